"""Numbers and their bits: powers of two, signs and exponents, as masks want them."""

from __future__ import annotations

import jax.numpy as jnp

import jax
from jax import Array


def epsilon(x: Array) -> float:
    """ε, the distance from 1 to the next number."""
    return 2.0**-52 if x.dtype == jnp.float64 else 2.0**-23


def bias(x: Array) -> int:
    """What is added to an exponent where it is stored."""
    return 1023 if x.dtype == jnp.float64 else 127


def negative(x: Array) -> Array:
    """Where the sign bit is set."""
    return jnp.signbit(x)


def with_sign(magnitude: Array | float, sign: Array) -> Array:
    """A magnitude with another number's sign."""
    return jnp.where(negative(sign), -magnitude, magnitude)


def exponent_field(x: Array) -> Array:
    """The biased exponent of a number that is not negative."""
    wide = x.dtype == jnp.float64
    bits = jax.lax.bitcast_convert_type(x, jnp.int64 if wide else jnp.int32)
    return (bits >> (52 if wide else 23)).astype(jnp.int32)


def power_of_two(biased: Array, like: Array) -> Array:
    """2^(biased exponent - bias)."""
    wide = like.dtype == jnp.float64
    bits = biased.astype(jnp.int64 if wide else jnp.int32) << (52 if wide else 23)
    return jax.lax.bitcast_convert_type(bits, like.dtype)


def away_from_zero(x: Array, least: float) -> Array:
    """A number of magnitude ``least`` in place of a smaller one."""
    return jnp.where(jnp.abs(x) < least, with_sign(jnp.full_like(x, least), x), x)


def nothing(like: Array) -> Array:
    """Zeros that vary over the mesh axes over which the finite ``like`` does, as loops want them from the start."""
    return jnp.abs(like * 0)


def normalised(z: Array) -> Array:
    """Columns (n, …) of length one; what could overflow is scaled first."""
    z = z * (1 / jnp.abs(z).max(0))
    return z * (1 / jnp.sqrt((z * z).sum(0)))

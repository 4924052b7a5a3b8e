"""The eigenvalue for JAX: values, derivatives of any order in both modes, jit and vmap, by the compiled kernel."""

try:
    import jax  # noqa: F401
except ImportError:
    raise ImportError("lambdak.jax needs JAX: pip install 'lambdak[jax]'") from None

from lambdak.jax.eigen import EigenPair, eigenpair, eigenvalue
from lambdak.jax.packing import sym, unsym

__all__ = ["EigenPair", "eigenpair", "eigenvalue", "sym", "unsym"]

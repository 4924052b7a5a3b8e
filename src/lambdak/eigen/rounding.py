r"""What rounding can do to an eigenvalue: a bound on the error of the kernel, for every matrix.

``eigenvalue_error(dim, dtype)`` is an E such that, for every packed row whose matrix A has ‖A‖_F at most half the
largest number, each eigenvalue that a call without vectors computes is within E · max(‖A‖_F, smallest normal number)
of λ_k(A). A is the matrix of :mod:`lambdak.eigen.packing`, unpacked by the dyadic ROOT_HALF. dim 1 is exact.

Below u is half the machine epsilon ε, terms of order u² are left out (constants are rounded up, and the last factor in
the code covers them in float32), and ‖·‖ is the spectral norm. By Weyl's theorem errors of A add up in λ_k:

====================  ====================================================================  =====================
part                  why                                                                   in units of u ‖A‖_F
====================  ====================================================================  =====================
unpacking             one product per entry, and ROOT_HALF itself in float32: 1.3 |entry|   2
underflow             of d entries of a row below the normal range, and of the result       d
reflector on m rows   see below: 9 m + 48, for m = 2 … d - 1                                4.5 d² + 43.5 d - 105
Sturm counts          see below: 10 R, R ≤ √2 ‖A‖_F the largest row sum of the tridiagonal  16
====================  ====================================================================  =====================

*A reflector.* v is the stored vector, β = 2/vᵀv, H = I - β v vᵀ, which is orthogonal; q = v/‖v‖. A sum of m products
is exact up to m u times the sum of their absolute values, in any order, fused or not. So ‖p - A v‖ ≤ m u ‖A‖_F ‖v‖,
the norm of the column is exact up to θ = (m/2 + 1) u, and the factor h up to τ = θ + 3 u relative to β. In the update
A - v wᵀ - w vᵀ these count, in units of u ‖A‖_F: p, whose error reaches w only orthogonally to v, 2 m; h, which
changes A by 2 τ (q qᵀ A H + H A q qᵀ), 4 τ/u = 2 m + 16; vᵀp 4 m; the other roundings of w 20; those of the update,
with ‖v‖ ‖w‖ ≤ √2 ‖A‖_F, 8; and the column, which H turns to within √2 θ + 2 u and whose norm is stored, 0.9 m + 3.2.
What is taken for zero without a reflector is below 16 u² times the largest entry.

*Sturm counts.* The computed p_i obey the recurrence exactly with d_i - x off by 2 u and e² by 3 u, relatively: dividing
p_i by its own rounding errors keeps all signs. So a computed count is that of a matrix T + Δ; a zero may have either
sign, for p_{i+1} p_{i-1} < 0 there. ‖Δ‖ ≤ 4 u R, and keeping |e| above ε/8 adds u R. A count ≤ k proves
λ_k ≥ x - ‖Δ‖, one > k proves λ_k ≤ x + ‖Δ‖, and no bracket is closed by anything else (``sturm.hpp``). It starts from
Gershgorin's bounds, widened by more than their rounding, and is halved in every second pass at least, so that it
always reaches 2 ε: half of that is 4 u R, and the last sum rounds by u R. All scaling is by powers of two.

Assumed: IEEE 754 arithmetic that rounds to nearest, with correctly rounded division and square root, no flush to zero
(the kernel sets the mode for its calls), and a compiler that neither reassociates nor approximates: ``-ffast-math`` is
off, ``-ffp-contract=fast`` may fuse a product with a sum, which removes a rounding, and ``-fno-math-errno`` and
``-fno-trapping-math`` change no result.

The LAPACK engine computes where no compiled kernel does. What its users' guide says, |error| ≤ p(d) ε ‖A‖ with p(d)
about 10 d, is an assumption and no theorem; the constant of the code is 24 larger than the table's to cover it.

Nearly equal eigenvalues have no derivative of a vector of their own. One width says which count as equal, whoever
computes: ``equal_within(dim, ε)`` times ‖A‖_F, which is above what rounding does to eigenvalues in practice.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike


def eigenvalue_error(dim: int, dtype: DTypeLike = np.float64) -> float:
    """E with |computed λ_k − λ_k(A)| ≤ E ‖A‖_F for every symmetric A in the normal range of ``dtype``, packed.

    >>> eigenvalue_error(9) < 8e-14
    True
    """
    if dim == 1:
        return 0.0
    first_order = (4.5 * dim * dim + 44.5 * dim - 63) * float(np.finfo(dtype).eps) / 2
    return first_order * (1 + 4 * first_order)


def equal_within(dim: int, epsilon: float) -> float:
    """τ such that eigenvalues within τ ‖A‖_F of λ_k count as equal to it in the derivative of v_k.

    The pseudo-inverse (λ − A)⁺ leaves their directions out: the kernel, LAPACK and ``torch.linalg.eigh`` alike.

    >>> equal_within(4, epsilon=2.0**-52) == 2.0**-48
    True
    """
    return 8.0 * math.sqrt(dim) * epsilon

"""The mathematics of f(z) = λ_k(A(z)): pencils, their spectra, constraints and starting points.

Modules: ``pencil``; ``spectrum``, ``tolerances``; ``gauge``; ``variational``; ``paths`` means of v vᵀ along straight
lines, ``attribution`` of a pencil's features by them; ``blocks``, ``inverse``; ``constraint_contract``,
``constraints``, ``factors``, ``squareplus``; ``initial``; ``exact`` semidefinite or not, in integers; ``definite``
the same in float64, where that is a proof; ``statements`` lists of both, ``common_pattern`` matrices
that go one way along a pattern; ``diameter`` the farthest pair of cells.
"""

from lambdak.pencil.pencil import Pencil
from lambdak.pencil.tolerances import REPEATED_TOL

__all__ = ["REPEATED_TOL", "Pencil"]

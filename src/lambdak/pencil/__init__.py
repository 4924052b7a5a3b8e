"""The mathematics of f(z) = λ_k(A(z)): pencils, their spectra, constraints and starting points."""

from lambdak.pencil.pencil import Pencil
from lambdak.pencil.tolerances import REPEATED_TOL

__all__ = ["REPEATED_TOL", "Pencil"]

"""The mathematics of f(z) = λ_k(A(z)): pencils, their spectra, constraints and starting points."""

from lambdak.pencil.pencil import REPEATED_TOL, Pencil

__all__ = ["REPEATED_TOL", "Pencil"]

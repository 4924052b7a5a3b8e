"""A model as one file of base R: a list of functions that take a data frame."""

from lambdak.export.r.writer import to_r

__all__ = ["to_r"]

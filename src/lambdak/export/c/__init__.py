"""A model as one C99 file and its header: no dependency, no allocation, nothing that changes."""

from lambdak.export.c.writer import to_c

__all__ = ["to_c"]

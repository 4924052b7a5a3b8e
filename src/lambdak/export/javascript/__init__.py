"""A model as one ES module, made of the report's own engine, with types: for browsers and Node."""

from lambdak.export.javascript.writer import to_javascript

__all__ = ["to_javascript"]

"""A model as one ES module, with the engine that reports share and with types: for browsers and Node."""

from lambdak.export.javascript.writer import to_javascript

__all__ = ["to_javascript"]

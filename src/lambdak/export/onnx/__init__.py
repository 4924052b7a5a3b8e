"""A fitted model as one ONNX file: standard operators, from a table's columns to predictions and slopes."""

from lambdak.export.onnx.model import to_onnx

__all__ = ["to_onnx"]

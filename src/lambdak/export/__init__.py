"""A fitted model elsewhere: C, JavaScript, ONNX, SQL, and tables that people read."""

from lambdak.export.c import to_c
from lambdak.export.javascript import to_javascript
from lambdak.export.onnx import to_onnx
from lambdak.export.sql import to_sql
from lambdak.export.tables import Relativities, Scorecard, relativities, scorecard
from lambdak.export.tables.files import to_table
from lambdak.export.targets import export_model

__all__ = [
    "Relativities",
    "Scorecard",
    "export_model",
    "relativities",
    "scorecard",
    "to_c",
    "to_javascript",
    "to_onnx",
    "to_sql",
    "to_table",
]

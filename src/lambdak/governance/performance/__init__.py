"""How a model does on rows: metrics with intervals, calibration, curves, coverage, actual against expected."""

from lambdak.governance.performance.bootstrap import Resampling
from lambdak.governance.performance.coverage import Coverage, GroupCoverage, coverage_of
from lambdak.governance.performance.lorenz import Lorenz, Roc
from lambdak.governance.performance.performance import Calibration, Performance, performance
from lambdak.governance.performance.segments import Segments
from lambdak.model.metrics import Estimate

__all__ = [
    "Calibration",
    "Coverage",
    "Estimate",
    "GroupCoverage",
    "Lorenz",
    "Performance",
    "Resampling",
    "Roc",
    "Segments",
    "coverage_of",
    "performance",
]

"""What an actuary and a model validator show about a model on data: performance, comparison with a tariff, drift."""

from lambdak.explain.portfolio.bootstrap import Estimate, Resampling
from lambdak.explain.portfolio.comparison import Comparison, Difference, compare
from lambdak.explain.portfolio.drift import ColumnDrift, Drift, drift
from lambdak.explain.portfolio.lorenz import Lorenz
from lambdak.explain.portfolio.performance import Calibration, Performance, performance
from lambdak.explain.portfolio.rate_change import RateChange, SegmentChange
from lambdak.explain.portfolio.roc import Roc
from lambdak.explain.portfolio.segments import Segments

__all__ = [
    "Calibration",
    "ColumnDrift",
    "Comparison",
    "Difference",
    "Drift",
    "Estimate",
    "Lorenz",
    "Performance",
    "RateChange",
    "Resampling",
    "Roc",
    "SegmentChange",
    "Segments",
    "compare",
    "drift",
    "performance",
]

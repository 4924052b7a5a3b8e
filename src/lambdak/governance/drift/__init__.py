"""Whether new rows are like old ones: the PSI of every column and prediction, and what moved their mean."""

from lambdak.governance.drift.drift import ColumnDrift, Drift, drift

__all__ = ["ColumnDrift", "Drift", "drift"]

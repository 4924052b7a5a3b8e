"""What a protected column and its proxies do to decisions: measured on rows, and proven for every row."""

from lambdak.governance.fairness.assessing import fairness
from lambdak.governance.fairness.assessment import Fairness

__all__ = ["Fairness", "fairness"]

"""A model beside another one or a current tariff: double lift, paired differences, changes of rates."""

from lambdak.governance.comparison.comparison import Comparison, Difference, compare
from lambdak.governance.comparison.rate_change import RateChange, SegmentChange

__all__ = ["Comparison", "Difference", "RateChange", "SegmentChange", "compare"]

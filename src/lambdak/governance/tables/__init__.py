"""Factor tables and scorecards: what people read, with a proof of how far it is from the model."""

from lambdak.governance.tables.deviation import Deviation
from lambdak.governance.tables.factor_table import FactorTable
from lambdak.governance.tables.relativity import Relativities, relativities
from lambdak.governance.tables.scorecards import Scorecard, scorecard
from lambdak.governance.tables.written import schema

__all__ = ["Deviation", "FactorTable", "Relativities", "Scorecard", "relativities", "schema", "scorecard"]

"""Factor tables and scorecards: what people read, with a proof of how far it is from the model."""

from lambdak.export.tables.deviation import Deviation
from lambdak.export.tables.factor_table import FactorTable
from lambdak.export.tables.relativity import Relativities, relativities
from lambdak.export.tables.scorecards import Scorecard, scorecard
from lambdak.export.tables.written import schema

__all__ = ["Deviation", "FactorTable", "Relativities", "Scorecard", "relativities", "schema", "scorecard"]

r"""What every export writes down: matrices as plain arrays, columns as rules for cells, and results by name.

score_o = start_o + scale Σ_m w_m λ_k(A_m(row)), and A_m(row) = constant_m + Σ_columns Σ_entries weight · coef_m[id].
"""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass
from typing import Any, final

from lambdak._checks import fits_float
from lambdak.certify.proofs import promised
from lambdak.certify.summary import plain_statement
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.readout import Family, families
from lambdak.store import load_model
from lambdak.table.column_contract import Column


@final
@dataclass(frozen=True, eq=False)
class Formula:
    """A frozen model as what is computed, step by step.

    Attributes
    ----------
    model : Model
        Where it comes from.
    families : tuple of Family
        The matrices; families with the same coefficients, such as those of quantiles, share the array.
    """

    model: Model
    families: tuple[Family, ...]

    @classmethod
    def of(cls, source: Any) -> Formula:
        """Formula of a fitted estimator, of its frozen model, or of a file that ``save`` wrote."""
        model = frozen(source)
        if model.loss.predicts is Predicts.TIMES:
            raise ValueError(
                "model must be one of whether an event happens by some time, to be exported; got a model of times: "
                "export model.at(horizon)"
            )
        return cls(model, families(model))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The user's columns, in the order of training."""
        return self.model.encoder.columns

    @property
    def n_outputs(self) -> int:
        """Raw scores of a row."""
        return len(self.model.start)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes of a classifier, in their order."""
        return () if self.model.classes is None else tuple(self.model.classes.tolist())

    @property
    def result_names(self) -> tuple[str, ...]:
        """What is predicted of a row: a number, quantiles, or the probability of each class.

        The raw scores of several classes or quantiles are as many, of two classes one, of ordered ones one less.
        """
        loss = self.model.loss
        if loss.predicts is Predicts.NUMBERS:
            return ("prediction",)
        if loss.predicts is Predicts.QUANTILES:
            return tuple(f"quantile_{level!r}" for level in self.model.outputs.quantile_levels)
        return tuple(f"probability_{label}" for label in self.labels)

    @property
    def guarantees(self) -> tuple[str, ...]:
        """What was requested of the model and is proven of its matrices, in plain sentences."""
        claims, score = promised(self.model), self.model.loss.link.units
        return tuple(plain_statement(claim, score) for claim in claims if claim.proven)

    @property
    def takes_offset(self) -> bool:
        """Whether the estimator's ``predict`` takes an offset."""
        return not self.model.loss.no_offset

    @property
    def raw_names(self) -> tuple[str, ...]:
        """A name for each raw score."""
        return ("raw",) if self.n_outputs == 1 else tuple(f"raw_{i}" for i in range(self.n_outputs))


def is_double(number: float) -> bool:
    """Whether a double holds exactly this number; it is finite.

    >>> is_double(2**53), is_double(2**53 + 1), is_double(10**400), is_double(math.inf)
    (True, False, False, False)
    """
    return fits_float(number) and math.isfinite(number) and float(number) == number


def frozen(source: Any) -> Model:
    """The model of a fitted estimator, of a file, or itself."""
    if isinstance(source, Model):
        return source
    if isinstance(source, str | os.PathLike):
        if zipfile.is_zipfile(source):
            raise TypeError(
                f"model must be the path of a saved model; got that of a Pipeline, {os.fspath(source)!r}: load it with "
                "lambdak.load, and export its last step, pipeline[-1]"
            )
        return load_model(source, None).model
    model = getattr(source, "model_", None)
    if not isinstance(model, Model):
        raise TypeError(
            f"model must be a fitted lambdak estimator, or the path of a saved one; got {type(source).__name__}: fit "
            "it first, and of a Pipeline export the last step"
        )
    return model

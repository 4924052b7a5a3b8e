"""The prediction that is meant where a model has several: a quantile, or the probability of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.output_choice import output_of
from lambdak.model.readout import Readout, readouts


@final
@dataclass(frozen=True, eq=False)
class Chosen:
    """link(sign · raw score at ``position``): the sign is −1 for the other one of two classes.

    Attributes
    ----------
    words : str
        What it is: "the prediction", "the probability of class 'yes'".
    """

    readout: Readout
    position: int
    sign: int
    words: str

    def predictions(self, raw: Float64Array) -> Float64Array:
        """As ``predict`` returns them, (n,), of raw scores (n, outputs)."""
        return self.readout.link.predictions(self.sign * raw[:, self.position])


def chosen(model: Model, output: Any) -> Chosen:
    """The prediction that a class label or quantile level names, as in :func:`lambdak.optimize.predicted`."""
    if model.loss.link.joint:
        known = np.asarray(model.classes).tolist()
        raise ValueError(
            f"the probability of one of several classes depends on all of them: name one of {known} as the target of "
            "counterfactual, or leave out the threshold of margin"
        )
    position, complement = output_of(model, output)
    return Chosen(readouts(model)[position], position, -1 if complement else 1, _words(model, position, complement))


def _words(model: Model, position: int, complement: bool) -> str:
    name = model.output_names[position]
    if model.classes is None:
        return "the prediction" if name == "prediction" else name
    if len(model.output_names) > 1:
        return f"the probability of {name}"
    labels = np.asarray(model.classes).tolist()
    return f"the probability of class {labels[int((model.loss.sign > 0) != complement)]!r}"

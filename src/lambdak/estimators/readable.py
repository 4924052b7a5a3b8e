"""What a fitted model can tell about itself, and how it is kept: one method each, the work is done above."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.certify.claims import Certificate, certify
from lambdak.certify.search import Verification, verify
from lambdak.explain.global_explanation import GlobalExplanation, explain_global
from lambdak.explain.local_explanation import LocalExplanation, explain_local
from lambdak.model.fitted import FittedModel
from lambdak.model.influence import any_change
from lambdak.model.readout import readouts
from lambdak.report import write_report
from lambdak.store import model_to_json, save_model


class ReadableModel(FittedModel):
    """A fitted model that can be read: what is said of it is computed from its matrices alone."""

    @property
    def feature_strengths_(self) -> NDArray[np.float64]:
        """Proven bound on what each column can do: no change of it, however large, moves a raw score by more.

        It is max Σ_m w_m ‖A_m(b) − A_m(a)‖₂ over all cells a, b of the column. A column that is not clamped counts by
        its training range.
        """
        outputs = readouts(self)
        bounds = [[any_change(output, i).bound for i in range(len(output.columns))] for output in outputs]
        return np.asarray(np.max(bounds, axis=0))

    def certify(self, within: Mapping[str, float | str] | None = None) -> Certificate:
        """Everything that is guaranteed, with the numbers that prove it: see :func:`lambdak.certify.claims.certify`.

        ``within`` gives tolerances of columns, such as ``{"income": 1000}``: the certificate then bounds the response
        to any change within them.
        """
        return certify(self, within)

    def verify(self, X: Any, n: int = 10_000, random_state: int = 0) -> Verification:
        """Search for a counterexample to the certificate, around the rows of X: see :func:`lambdak.certify.verify`."""
        return verify(self, X, n, random_state)

    def explain_global(self, X: Any = None, *, output: int | None = None) -> GlobalExplanation:
        """What each column does to the model: see :func:`lambdak.explain.global_explanation.explain_global`."""
        return explain_global(self, X, output)

    def explain_local(self, X: Any, baseline: Any = None, *, output: int | None = None) -> LocalExplanation:
        """Why the rows of X are predicted as they are: see :func:`lambdak.explain.local_explanation.explain_local`."""
        return explain_local(self, X, baseline, output)

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write one HTML file in which this model runs, with its certificate: see :func:`lambdak.report.write_report`.

        ``X`` gives rows to start from and a summary of the columns, ``y`` how well the model does on them.
        """
        write_report(self, path, X, y, self.certify().to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file, as a whole or not at all; :func:`lambdak.load` reads it.

        The file holds what predicts, explains and certifies; see :mod:`lambdak.store` for what it leaves out.
        """
        save_model(self, path)

    def to_json(self) -> str:
        """The fitted model as text to compare line by line; :func:`lambdak.from_json` reads it."""
        return model_to_json(self)

"""What a fitted model offers: one method each; the work is done in other packages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lambdak.certify import Certificate, Verification, certify, verify
from lambdak.explain import GlobalExplanation, LocalExplanation, explain_global, explain_local
from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.model.predictor import Predictor
from lambdak.optimize import Inverse, Margins, Recourse, counterfactual, inverse, margin
from lambdak.report import write_report
from lambdak.store import SavedModel, SavedTraining, model_to_json, save_model


class ModelMethods:
    """Methods of an estimator that take its frozen model."""

    model_: Model
    n_iter_: int
    _parameters: dict[str, Any]

    @property
    def _fitted(self) -> Model:
        if "model_" not in vars(self):  # the check takes longer than a prediction
            check_is_fitted(self, "model_")
        return self.model_

    @property
    def feature_strengths_(self) -> NDArray[np.float64]:
        """Proven bound on what each column can do: no change of it, however large, moves a raw score by more.

        It is max Σ_m w_m ‖A_m(b) − A_m(a)‖₂ over all cells a, b of the column. A column that is not clamped counts by
        its training range.
        """
        return strengths(self._fitted)

    def certify(self, within: Mapping[str, float | str] | None = None, *, exact: bool = False) -> Certificate:
        """Everything that is guaranteed, with the numbers that prove it: see :func:`lambdak.certify.certify`.

        ``within`` gives tolerances of columns, such as ``{"income": 1000}``: the certificate then bounds the response
        to any change within them. ``exact`` decides every statement in integers.
        """
        return certify(self._fitted, within, exact)

    def verify(
        self, X: Any, n: int = 10_000, random_state: int = 0, within: Mapping[str, float | str] | None = None
    ) -> Verification:
        """Search for a counterexample to the certificate, around the rows of X: see :func:`lambdak.certify.verify`."""
        return verify(self._fitted, X, n, random_state, within)

    def explain_global(self, X: Any = None, *, output: int | None = None) -> GlobalExplanation:
        """What each column does to the model: see :func:`lambdak.explain.explain_global`."""
        return explain_global(self._fitted, X, output)

    def explain_local(self, X: Any, baseline: Any = None, *, output: int | None = None) -> LocalExplanation:
        """Why the rows of X are predicted as they are: see :func:`lambdak.explain.explain_local`."""
        return explain_local(self._fitted, X, baseline, output)

    def inverse(
        self, row: Any, column: str, target: float, *, output: Any = None, offset: float | None = None
    ) -> Inverse:
        """The value of a monotone column that reaches a prediction: see :func:`lambdak.optimize.inverse`."""
        return inverse(self._fitted, row, column, target, output, offset)

    def counterfactual(
        self,
        rows: Any,
        target: Any,
        actionable: Sequence[str],
        cost: str | Mapping[str, float] = "l1",
        directions: Mapping[str, str] | None = None,
        n: int = 1,
        **options: Any,
    ) -> Recourse:
        """The cheapest change of each row that reaches a target, with a proven bound on its cost.

        ``options`` are ``bounds``, ``whole``, ``scale``, ``output``, ``offset``, ``gap``, ``time_limit`` and
        ``progress``: see :func:`lambdak.optimize.counterfactual`.
        """
        return counterfactual(self._fitted, rows, target, actionable, cost, directions, n, **options)

    def margin(
        self,
        rows: Any,
        threshold: float | None = None,
        columns: Sequence[str] | None = None,
        scale: Mapping[str, float] | None = None,
        **options: Any,
    ) -> Margins:
        """How far columns may move before the decision about a row changes: proven bounds, and rows that change it.

        ``options`` are ``output``, ``levels``, ``offset``, ``gap`` and ``time_limit``: see
        :func:`lambdak.optimize.margin`.
        """
        return margin(self._fitted, rows, threshold, columns, scale, **options)

    def predictor(self) -> Predictor:
        """The model for single rows, as a service gets them, without any library for tables.

        ``predictor({"age": 31, "income": 52e3})`` is what ``predict`` says of a table with that row, bit for bit; any
        number of threads may call it: see :class:`lambdak.model.predictor.Predictor`.
        """
        return Predictor(self._fitted)

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write one HTML file in which this model runs, with its certificate: see :func:`lambdak.report.write_report`.

        ``X`` gives rows to start from and a summary of the columns, ``y`` how well the model does on them.
        """
        write_report(self._fitted, path, X, y, self.certify().to_dict())

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False) -> None:
        """Write the fitted model to one safetensors file, as a whole or not at all; :func:`lambdak.load` reads it.

        The file holds what predicts, explains and certifies, and the settings of the fit. With ``training_state`` also
        what ``partial_fit`` and ``warm_start`` need to continue, bit for bit, and ``feature_importances_``: it is then
        up to some times as large, and holds means and covariances of the training rows.
        """
        save_model(self._saved(training_state), path)

    def to_json(self) -> str:
        """The fitted model as text to compare line by line; :func:`lambdak.from_json` reads it."""
        return model_to_json(self._saved())

    def _saved(self, training_state: bool = False) -> SavedModel:
        training = self._saved_training() if training_state else None
        return SavedModel(self._fitted, self._parameters, self.n_iter_, training)

    def _saved_training(self) -> SavedTraining:
        """What training needs to continue."""
        raise NotImplementedError

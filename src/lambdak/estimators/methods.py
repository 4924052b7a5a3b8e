"""What a fitted model offers: one method each; the work is done in other packages.

A method imports the package that does its work, so that who only fits and predicts does not load the readers of models.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.model.known_target import KnownTarget
from lambdak.model.predictor import Predictor
from lambdak.model.rows import row_offset

if TYPE_CHECKING:
    from lambdak.certify import Certificate, Verification
    from lambdak.explain import GlobalExplanation, LocalExplanation
    from lambdak.governance.comparison import Comparison
    from lambdak.governance.drift import Drift
    from lambdak.governance.fairness import Fairness
    from lambdak.governance.performance import Performance
    from lambdak.governance.tables import Relativities, Scorecard
    from lambdak.optimize import Inverse, Margins, Reasons, Recourse
    from lambdak.store import SavedModel, SavedTraining
    from lambdak.table.rows import Rows


class ModelMethods:
    """Methods of an estimator that take its frozen model."""

    model_: Model
    n_iter_: int
    _parameters: dict[str, Any]
    _target: KnownTarget = KnownTarget()

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
        from lambdak.certify import certify

        return certify(self._fitted, within, exact)

    def verify(
        self, X: Any, n: int = 10_000, random_state: int = 0, within: Mapping[str, float | str] | None = None
    ) -> Verification:
        """Search for a counterexample to the certificate, around the rows of X: see :func:`lambdak.certify.verify`."""
        from lambdak.certify import verify

        return verify(self._fitted, X, n, random_state, within)

    def explain_global(self, X: Any = None, *, output: Any = None) -> GlobalExplanation:
        """What each column does to the model: see :func:`lambdak.explain.explain_global`."""
        from lambdak.explain import explain_global

        return explain_global(self._fitted, X, output)

    def explain_local(self, X: Any, baseline: Any = None, *, output: Any = None) -> LocalExplanation:
        """Why the rows of X are predicted as they are: see :func:`lambdak.explain.explain_local`.

        One row may also be a mapping of column to cell, or a pandas Series such as ``X.iloc[0]``.
        """
        from lambdak.explain import explain_local

        return explain_local(self._fitted, X, baseline, output, self._target)

    def performance(self, X: Any, y: Any, *, exposure: Any = None, **options: Any) -> Performance:
        """How the model does on rows: metrics with intervals, lift, Lorenz curve, actual against expected.

        ``options`` are ``sample_weight``, ``offset``, ``output``, ``groups``, ``n_resamples``, ``confidence`` and
        ``random_state``: see :func:`lambdak.governance.performance.performance`.
        """
        from lambdak.governance.performance import performance

        return performance(self._fitted, X, y, exposure=exposure, **options)

    def compare(self, other: Any, X: Any, y: Any = None, *, exposure: Any = None, **options: Any) -> Comparison:
        """Compare with another model or a current tariff: double lift, paired differences, changes of rates.

        ``options`` are those of :meth:`performance`, ``rebase`` and ``names``: see
        :func:`lambdak.governance.comparison.compare`.
        """
        from lambdak.governance.comparison import compare

        return compare(self._fitted, other, X, y, exposure=exposure, **options)

    def drift(self, X_old: Any, X_new: Any, **options: Any) -> Drift:
        """Whether new rows are like old ones: PSI of every column and of the prediction, and what moved its mean.

        ``options`` are ``sample_weight_old``, ``sample_weight_new``, ``bands``, ``output`` and ``random_state``: see
        :func:`lambdak.governance.drift.drift`.
        """
        from lambdak.governance.drift import drift

        return drift(self._fitted, X_old, X_new, **options)

    def inverse(
        self,
        row: Any,
        column: str,
        target: float,
        *,
        output: Any = None,
        offset: float | None = None,
        exposure: float | None = None,
        whole: bool | None = None,
    ) -> Inverse:
        """The value of a monotone column that reaches a prediction: see :func:`lambdak.optimize.inverse`."""
        from lambdak.optimize import inverse

        added = row_offset(self._fitted.loss, offset, exposure)
        return inverse(self._fitted, row, column, target, output, added, whole)

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

        ``options`` are ``bounds``, ``whole``, ``scale``, ``output``, ``offset`` or ``exposure``, ``gap``,
        ``time_limit`` and ``progress``: see :func:`lambdak.optimize.counterfactual`.
        """
        from lambdak.optimize import counterfactual

        return counterfactual(self._fitted, rows, target, actionable, cost, directions, n, **self._moved(options))

    def margin(
        self,
        rows: Any,
        threshold: float | None = None,
        columns: Sequence[str] | None = None,
        scale: Mapping[str, float] | None = None,
        **options: Any,
    ) -> Margins:
        """How far columns may move before the decision about a row changes: proven bounds, and rows that change it.

        ``options`` are ``output``, ``levels``, ``whole``, ``offset`` or ``exposure``, ``gap`` and ``time_limit``: see
        :func:`lambdak.optimize.margin`.
        """
        from lambdak.optimize import margin

        return margin(self._fitted, rows, threshold, columns, scale, **self._moved(options))

    def reasons(self, rows: Any, threshold: float | None = None, top: int = 4, **options: Any) -> Reasons:
        """Why rows are declined, the principal reasons first, each with what would have been enough, proven.

        ``protected_features`` are never named. ``options`` are ``target`` (the class that is an approval), ``texts``,
        ``exclude``, ``immutable``, ``baseline``, ``output``, ``offset`` or ``exposure``, ``together``, ``whole`` and
        ``undirected``: see :func:`lambdak.optimize.reasons`.
        """
        from lambdak.estimators.settings import protected_columns
        from lambdak.optimize import reasons

        more = options.get("exclude", ())
        named = (
            *protected_columns(self, self._fitted.encoder.feature_names),
            *([more] if isinstance(more, str | int) else more),
        )
        return reasons(self._fitted, rows, threshold, top, **self._moved(options) | {"exclude": named})

    def fairness(self, X: Any, column: Any, y: Any = None, **options: Any) -> Fairness:
        """What flipping a protected column does to the rows of X, and proven bounds for it and its proxies.

        ``options`` are ``threshold``, ``target``, ``proxies``, ``output``, and ``offset`` or ``exposure``: see
        :func:`lambdak.governance.fairness.fairness`.
        """
        from lambdak.governance.fairness import fairness

        return fairness(self._fitted, X, column, y, **self._moved(options))

    def _moved(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options in which an exposure, if there is one, is part of the offset."""
        others = {name: value for name, value in options.items() if name != "exposure"}
        if options.get("exposure") is None:
            return others
        return others | {"offset": row_offset(self._fitted.loss, options.get("offset"), options["exposure"])}

    def predictor(self) -> Predictor:
        """The model for single rows, as a service gets them, without any library for tables.

        ``predictor({"age": 31, "income": 52e3})`` is what ``predict`` says of a table with that row, bit for bit; any
        number of threads may call it: see :class:`lambdak.model.predictor.Predictor`.
        """
        return Predictor(self._fitted)

    def relativities(self, X: Any = None, y: Any = None, **options: Any) -> Relativities:
        """The model as factor tables, with a proof of how far they can be from it.

        ``options`` are ``exposure``, ``sample_weight``, ``form``, ``bands``, ``two_way``, ``whole``, ``base``,
        ``decimals``, ``output`` and ``time_limit``: see :func:`lambdak.governance.tables.relativities`.
        """
        from lambdak.governance.tables import relativities

        return relativities(self._fitted, X, y, **options)

    def scorecard(self, X: Any = None, y: Any = None, **options: Any) -> Scorecard:
        """A classifier of two classes as a scorecard, with a proof of how far its points can be from the model.

        ``options`` are ``pdo``, ``base_score``, ``base_odds``, ``good``, ``sample_weight``, ``bands``, ``whole``,
        ``rounded``, ``score_bands`` and ``time_limit``: see :func:`lambdak.governance.tables.scorecard`.
        """
        from lambdak.governance.tables import scorecard

        return scorecard(self._fitted, X, y, **options)

    def export(self, path: str | os.PathLike[str], to: str | None = None, **options: Any) -> None:
        """Write the model as C, Java, JavaScript, ONNX, R, SQL or tables, by the ending of ``path`` or by ``to``.

        ``model.export("model.onnx", explain=True)``: see :func:`lambdak.export.export_model`.
        """
        from lambdak.export import export_model

        export_model(self._fitted, path, to, **options)

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> Path:
        """Write one HTML file in which this model runs, with its certificate, and return its path.

        ``X`` and ``y`` are rows to start from, such as those of training; ``X_test`` and ``y_test`` are rows that the
        fit did not see, on which the model is measured. See :func:`lambdak.report.write_report` for all ``options``.
        """
        from lambdak.report import write_report

        return write_report(self._fitted, path, X, y, **self._reported(), **options)

    def _reported(self) -> dict[str, Any]:
        """What a report says beside the model itself."""
        return {"effects": getattr(self, "_effects", None)}

    def dossier(self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> Path:
        """Write one document for validators, and return its path: HTML, Word or Markdown.

        ``X`` and ``y`` are rows that the fit did not see. ``options`` are weights and training rows, settings of the
        computations, and the words of the owner, such as ``purpose`` and ``intended_use``: see
        :func:`lambdak.report.dossier.write_dossier`.
        """
        from lambdak.report.dossier import Refittable, write_dossier

        return write_dossier(Refittable(self._saved(), self._refitted), path, X, y, **options)

    def model_card(self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> Path:
        """Write a model card for a model hub, and return its path: see :func:`lambdak.report.dossier.write_card`.

        ``options`` are ``license``, ``tags`` and ``dataset``, and those of :meth:`dossier`.
        """
        from lambdak.report.dossier import Refittable, write_card

        return write_card(Refittable(self._saved(), self._refitted), path, X, y, **options)

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False) -> None:
        """Write the fitted model to one safetensors file, as a whole or not at all; :func:`lambdak.load` reads it.

        The file holds what predicts, explains and certifies, and the settings of the fit. With ``training_state`` also
        what ``partial_fit`` and ``warm_start`` need to continue, bit for bit, and ``feature_importances_``: it is then
        up to some times as large, and holds means and covariances of the training rows.
        """
        from lambdak.store import save_model

        save_model(self._saved(training_state), path)

    def to_json(self) -> str:
        """The fitted model as text to compare line by line; :func:`lambdak.from_json` reads it."""
        from lambdak.store import model_to_json

        return model_to_json(self._saved())

    def _saved(self, training_state: bool = False) -> SavedModel:
        from lambdak.store import SavedModel

        training = self._saved_training() if training_state else None
        return SavedModel(self._fitted, self._parameters, self.n_iter_, training, self._target)

    def _saved_training(self) -> SavedTraining:
        """What training needs to continue."""
        raise NotImplementedError

    def _refitted(self, seed: int, rows: Rows) -> Model:
        """A model that is fitted like this one, to these rows and with another seed."""
        raise NotImplementedError

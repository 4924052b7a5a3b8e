"""Methods of a fitted estimator that read it: the work is done by ``certify``, ``explain`` and ``optimize``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lambdak.estimators.fitted import Fitted
from lambdak.model.influence import strengths
from lambdak.model.rows import row_offset

if TYPE_CHECKING:
    from lambdak.certify import Certificate, Verification
    from lambdak.explain import GlobalExplanation, LocalExplanation
    from lambdak.optimize import Inverse, Margins, Moment, Reasons, Recourse


class Reading(Fitted):
    """What a model guarantees, why rows are predicted as they are, and which changes of them reach a prediction."""

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
        *,
        bounds: Mapping[str, Any] | None = None,
        whole: Sequence[str] | None = None,
        scale: Mapping[str, float] | None = None,
        output: Any = None,
        offset: Any = None,
        exposure: Any = None,
        gap: float = 0.01,
        time_limit: float | None = 10.0,
        progress: Callable[[Moment], None] | None = None,
    ) -> Recourse:
        """The cheapest change of each row that reaches a target, with a proven bound on its cost.

        See :func:`lambdak.optimize.counterfactual`.
        """
        from lambdak.optimize import counterfactual

        return counterfactual(
            self._fitted, rows, target, actionable, cost, directions, n, bounds=bounds, whole=whole, scale=scale,
            output=output, offset=self._offset(offset, exposure), gap=gap, time_limit=time_limit, progress=progress,
        )  # fmt: skip

    def margin(
        self,
        rows: Any,
        threshold: float | None = None,
        columns: Sequence[str] | None = None,
        scale: Mapping[str, float] | None = None,
        output: Any = None,
        *,
        levels: bool = True,
        whole: Sequence[str] | None = None,
        offset: Any = None,
        exposure: Any = None,
        gap: float = 0.01,
        time_limit: float | None = 2.0,
    ) -> Margins:
        """How far columns may move before the decision about a row changes: proven bounds, and rows that change it.

        See :func:`lambdak.optimize.margin`.
        """
        from lambdak.optimize import margin

        return margin(
            self._fitted, rows, threshold, columns, scale, output, levels=levels, whole=whole,
            offset=self._offset(offset, exposure), gap=gap, time_limit=time_limit,
        )  # fmt: skip

    def reasons(
        self,
        rows: Any,
        threshold: float | None = None,
        top: int = 4,
        *,
        target: Any = None,
        texts: Mapping[Any, Any] | None = None,
        exclude: Sequence[Any] = (),
        immutable: Sequence[Any] = (),
        baseline: Any = None,
        output: Any = None,
        offset: Any = None,
        exposure: Any = None,
        together: bool = True,
        whole: Sequence[str] | None = None,
        undirected: str = "warn",
    ) -> Reasons:
        """Why rows are declined, the principal reasons first, each with what would have been enough, proven.

        The ``protected_features`` of the estimator are never named. See :func:`lambdak.optimize.reasons`.
        """
        from lambdak.estimators.settings import protected_columns
        from lambdak.optimize import reasons

        protected = protected_columns(self, self._fitted.encoder.feature_names)
        named = (*protected, *([exclude] if isinstance(exclude, str | int) else exclude))
        return reasons(
            self._fitted, rows, threshold, top, target=target, texts=texts, exclude=named, immutable=immutable,
            baseline=baseline, output=output, offset=self._offset(offset, exposure), together=together, whole=whole,
            undirected=undirected,
        )  # fmt: skip

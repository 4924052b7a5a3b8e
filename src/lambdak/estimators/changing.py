"""Methods of a fitted estimator about changes of rows: the work is done by the package ``optimize``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lambdak.estimators.fitted import Fitted
from lambdak.model.rows import row_offset

if TYPE_CHECKING:
    from lambdak.optimize import Inverse, Margins, Moment, Reasons, Recourse


class Changing(Fitted):
    """Which changes of rows reach a prediction, and which cannot."""

    def inverse(
        self,
        row: Any,
        column: str,
        target: float,
        *,
        output: Any = None,
        offset: float | None = None,
        exposure: float | None = None,
    ) -> Inverse:
        """The value of a monotone column that reaches a prediction: see :func:`lambdak.optimize.inverse`."""
        from lambdak.optimize import inverse

        return inverse(self._fitted, row, column, target, output, row_offset(self._fitted.loss, offset, exposure))

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
        whole: Sequence[str] = (),
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
            self._fitted, rows, threshold, columns, scale, output, levels=levels,
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
    ) -> Reasons:
        """Why rows are declined, the principal reasons first, each with what would have been enough, proven.

        See :func:`lambdak.optimize.reasons`.
        """
        from lambdak.optimize import reasons

        return reasons(
            self._fitted, rows, threshold, top, target=target, texts=texts, exclude=exclude, immutable=immutable,
            baseline=baseline, output=output, offset=self._offset(offset, exposure), together=together,
        )  # fmt: skip

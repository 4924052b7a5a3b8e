"""Methods of a fitted estimator that validators use: the work is done by the package ``governance``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lambdak.estimators.fitted import Fitted

if TYPE_CHECKING:
    from lambdak.governance.comparison import Comparison
    from lambdak.governance.drift import Drift
    from lambdak.governance.fairness import Fairness
    from lambdak.governance.performance import Performance
    from lambdak.governance.tables import Relativities, Scorecard


class Governing(Fitted):
    """How a model does on rows, beside other models, on new rows and for groups; its tables for filing."""

    def performance(
        self,
        X: Any,
        y: Any,
        *,
        exposure: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        output: Any = None,
        groups: Any = None,
        n_resamples: int = 200,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> Performance:
        """How the model does on rows: metrics with intervals, lift, Lorenz curve, actual against expected.

        See :func:`lambdak.governance.performance.performance`.
        """
        from lambdak.governance.performance import performance

        return performance(
            self._fitted, X, y, exposure=exposure, sample_weight=sample_weight, offset=offset, output=output,
            groups=groups, n_resamples=n_resamples, confidence=confidence, random_state=random_state,
        )  # fmt: skip

    def compare(
        self,
        other: Any,
        X: Any,
        y: Any = None,
        *,
        exposure: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        output: Any = None,
        groups: Any = None,
        rebase: bool = False,
        names: Sequence[str] = ("model", "other"),
        n_resamples: int = 200,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> Comparison:
        """Compare with another model or a current tariff: double lift, paired differences, changes of rates.

        See :func:`lambdak.governance.comparison.compare`.
        """
        from lambdak.governance.comparison import compare

        return compare(
            self._fitted, other, X, y, exposure=exposure, sample_weight=sample_weight, offset=offset, output=output,
            groups=groups, rebase=rebase, names=names, n_resamples=n_resamples, confidence=confidence,
            random_state=random_state,
        )  # fmt: skip

    def drift(
        self,
        X_old: Any,
        X_new: Any,
        *,
        sample_weight_old: Any = None,
        sample_weight_new: Any = None,
        bands: int | str = 10,
        output: Any = None,
        random_state: int = 0,
    ) -> Drift:
        """Whether new rows are like old ones: PSI of every column and of the prediction, and what moved its mean.

        See :func:`lambdak.governance.drift.drift`.
        """
        from lambdak.governance.drift import drift

        return drift(
            self._fitted, X_old, X_new, sample_weight_old=sample_weight_old, sample_weight_new=sample_weight_new,
            bands=bands, output=output, random_state=random_state,
        )  # fmt: skip

    def fairness(
        self,
        X: Any,
        column: Any,
        y: Any = None,
        *,
        threshold: float | None = None,
        target: Any = None,
        proxies: Sequence[Any] | None = None,
        output: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Fairness:
        """What flipping a protected column does to the rows of X, and proven bounds for it and its proxies.

        See :func:`lambdak.governance.fairness.fairness`.
        """
        from lambdak.governance.fairness import fairness

        return fairness(
            self._fitted, X, column, y, threshold=threshold, target=target, proxies=proxies, output=output,
            offset=self._offset(offset, exposure),
        )  # fmt: skip

    def relativities(
        self,
        X: Any = None,
        y: Any = None,
        *,
        exposure: Any = None,
        sample_weight: Any = None,
        form: str = "bands",
        bands: int | Mapping[str, int | Sequence[float]] = 10,
        two_way: Any = 0,
        whole: Sequence[str] | None = None,
        base: str = "largest",
        decimals: int | None = None,
        output: Any = None,
        time_limit: float = 10.0,
    ) -> Relativities:
        """The model as factor tables, with a proof of how far they can be from it.

        See :func:`lambdak.governance.tables.relativities`.
        """
        from lambdak.governance.tables import relativities

        return relativities(
            self._fitted, X, y, exposure=exposure, sample_weight=sample_weight, form=form, bands=bands,
            two_way=two_way, whole=whole, base=base, decimals=decimals, output=output, time_limit=time_limit,
        )  # fmt: skip

    def scorecard(
        self,
        X: Any = None,
        y: Any = None,
        *,
        pdo: float = 20,
        base_score: float = 600,
        base_odds: float = 50,
        good: Any = None,
        sample_weight: Any = None,
        bands: int | Mapping[str, int | Sequence[float]] = 10,
        whole: Sequence[str] | None = None,
        rounded: bool = True,
        score_bands: int = 10,
        time_limit: float = 10.0,
    ) -> Scorecard:
        """A classifier of two classes as a scorecard, with a proof of how far its points can be from the model.

        See :func:`lambdak.governance.tables.scorecard`.
        """
        from lambdak.governance.tables import scorecard

        return scorecard(
            self._fitted, X, y, pdo=pdo, base_score=base_score, base_odds=base_odds, good=good,
            sample_weight=sample_weight, bands=bands, whole=whole, rounded=rounded, score_bands=score_bands,
            time_limit=time_limit,
        )  # fmt: skip

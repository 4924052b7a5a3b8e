"""lambdak as a model of AutoGluon, and so of TabArena.

``TabularPredictor(label).fit(table, hyperparameters={LambdakModel: {}, "GBM": {}})`` fits it beside LightGBM. Needs
``pip install autogluon.tabular``; nothing else of lambdak imports this module.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

try:
    from autogluon.core.models import AbstractModel
except ImportError:
    raise ImportError("lambdak.autogluon needs AutoGluon: pip install autogluon.tabular") from None

from lambdak.estimators import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor

__all__ = ["LambdakModel"]

# Above all peaks that were measured with effort="balanced": 5,000 rows × 500 columns .56 GB, 50,000 × 20 .33 GB,
# 5,000 × 20 with 20 classes .35 GB, 20,000 × 16 with 26 classes .41 GB, of which .21 GB are the libraries.
_BASE_BYTES, _BYTES_PER_CELL, _BYTES_PER_CLASS = 250_000_000, 150, 8_000_000


class LambdakModel(AbstractModel):
    """An estimator of lambdak as AutoGluon fits, bags, stacks and saves its models.

    Hyperparameters are the settings of the estimator: of :class:`~lambdak.SpectralClassifier` where the target is two
    or more classes, of :class:`~lambdak.SpectralQuantileRegressor` for quantiles (their levels are the predictor's),
    otherwise of :class:`~lambdak.SpectralRegressor`. With ``{LambdakModel: {"monotonic_cst": {"age": 1}}}`` the model
    promises for every row what the estimator promises. An ensemble is a mean of models with weights ≥ 0: it is monotone
    in a column if all models in it are. A stacker also reads predictions of other models, and promises nothing for the
    table's own columns.

    Threads and seed are AutoGluon's. Validation rows are ignored, because the estimator leaves out rows of its own; so
    is ``time_limit``: a fit ends when it is done.

    Attributes
    ----------
    model : estimator
        The fitted estimator, with its ``certify``, ``explain_local``, ``report`` and all other methods.
    """

    ag_key = "LAMBDAK"
    ag_name = "lambdak"
    ag_priority = 70  # after AutoGluon's boosted trees
    seed_name = "random_state"
    _supported_problem_types: ClassVar = ["binary", "multiclass", "regression", "quantile"]
    _default_auxiliary_params_extra: ClassVar = {"valid_raw_types": ["bool", "int", "float", "category"]}

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, num_cpus: int | str = "auto", **_: Any) -> None:
        settings = self._get_model_params()
        settings["n_jobs"] = None if num_cpus == "auto" else int(num_cpus)
        self.model = self._estimator(settings).fit(self.preprocess(X), np.asarray(y), sample_weight=sample_weight)

    def _estimator(self, settings: dict[str, Any]) -> Any:
        if self.problem_type == "quantile":
            return SpectralQuantileRegressor(tuple(self.quantile_levels), **settings)
        kind = SpectralRegressor if self.problem_type == "regression" else SpectralClassifier
        return kind(**settings)

    def _predict_proba(self, X: Any, **arguments: Any) -> Any:
        if self.problem_type == "quantile":
            return self.model.predict_quantiles(self.preprocess(X, **arguments))  # (rows, levels)
        return super()._predict_proba(X, **arguments)

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: Any, num_classes: int | None = None, **_: Any) -> int:
        """Bytes of a fit at its peak."""
        return _BASE_BYTES + _BYTES_PER_CELL * int(X.size) + _BYTES_PER_CLASS * (num_classes or 0)

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}

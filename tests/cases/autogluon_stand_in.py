"""What ``lambdak.autogluon`` takes from AutoGluon's AbstractModel, for tests where AutoGluon is not installed."""

from __future__ import annotations

import sys
from types import ModuleType


class AbstractModel:
    """Settings, seed and predictions, as AutoGluon 1.6 passes them on."""

    quantile_levels = None

    def __init__(self, problem_type, hyperparameters=None, **_):
        self.problem_type, self.params = problem_type, dict(hyperparameters or {})

    def _get_model_params(self):
        return dict(self.params)

    def preprocess(self, X, **_):
        return X

    def fit(self, *, X, y, random_seed=0, **given):
        self.params.setdefault(self.seed_name, random_seed)
        self._fit(X=X, y=y, **given)
        return self

    def predict_proba(self, X):
        """The predictions of any task, as AutoGluon calls them."""
        return self._predict_proba(X)

    def _predict_proba(self, X):
        if self.problem_type == "regression":
            return self.model.predict(X)
        probabilities = self.model.predict_proba(X)
        return probabilities[:, 1] if self.problem_type == "binary" else probabilities


def install(monkeypatch):
    """Let ``autogluon.core.models`` be this module until the test is over, and import the wrapper again."""
    modules = {name: ModuleType(name) for name in ("autogluon", "autogluon.core", "autogluon.core.models")}
    modules["autogluon.core.models"].AbstractModel = AbstractModel
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "lambdak.autogluon", raising=False)

"""lambdak as one of AutoGluon's models: fitted, compared and combined with others.

usage: python examples/autogluon_models.py

Needs autogluon.tabular. AutoGluon fits each model on the same rows, ranks them by rows that it leaves out, and combines
them; ``fit(…, num_bag_folds=8)`` does so with folds. What is promised of a column holds in lambdak's own model, and
its certificate says so. The same class is what TabArena's ``ConfigGenerator(model_cls=LambdakModel, …)`` takes.
"""

from __future__ import annotations

import tempfile

from autogluon.tabular import TabularPredictor
from sklearn.datasets import load_diabetes

from lambdak.autogluon import LambdakModel


def main() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    table = X.assign(progression=y)
    train, test = table.iloc[:342], table.iloc[342:]
    models = {
        LambdakModel: {"effort": "fast", "monotonic_cst": {"bmi": 1, "bp": 1}},
        "RF": {"n_estimators": 100},
        "LR": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        predictor = TabularPredictor("progression", path=f"{folder}/models", verbosity=0)
        predictor.fit(train, hyperparameters=models)
        print(predictor.leaderboard(test)[["model", "score_test", "score_val", "fit_time"]].to_string(index=False))
        own = predictor._trainer.load_model("lambdak").model  # the fitted SpectralRegressor
        print(own.certify())


if __name__ == "__main__":
    main()

"""Accuracy and time of the estimators beside their peers, none of them tuned or constrained, re-run in this script.

usage: python benchmarks/estimators.py [--data DIR] [--splits 3] [--only california bike ...]
                                       [--effort fast balanced best] [--ebm]

Each split holds out a fifth of the rows for the test, which nothing sees before the score. LightGBM has 2000 trees at
rate 0.05 and stops early on a tenth of the training rows; each spectral member is validated on another tenth. All else
is every library's default. Mind that these are development tables: the defaults of the spectral estimators were chosen
on other partitions of them (recipe.py), those of the peers were not.

Scores: R² (california, bike), AUC (adult, higgs), mean Poisson deviance (fremtpl2, smaller is better). Needs lightgbm
and pandas; with --ebm interpret as well.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from tables import DATA, MEASURE, Problem, categories, load, score

# ---- the contestants: fit(problem, rows) -> a function that scores rows -------------------------------------------

Predict = Callable[[np.ndarray], np.ndarray]


def spectral(effort: str, seed: int) -> Callable[[Problem, np.ndarray], Predict]:
    def fit(problem: Problem, rows: np.ndarray) -> Predict:
        X, y = problem.X.iloc[rows], problem.y[rows]
        if problem.task == "classification":
            model = SpectralClassifier(effort=effort, random_state=seed).fit(X, y)
            return lambda test: model.predict_proba(problem.X.iloc[test])[:, 1]
        if problem.task == "poisson":
            model = SpectralRegressor("poisson", effort=effort, random_state=seed)
            model.fit(X, y, offset=np.log(problem.exposure[rows]))
            return lambda test: model.predict(problem.X.iloc[test], offset=np.log(problem.exposure[test]))
        model = SpectralRegressor(effort=effort, random_state=seed).fit(X, y)
        return lambda test: model.predict(problem.X.iloc[test])

    return fit


def boosted(problem: Problem, rows: np.ndarray) -> Predict:
    """LightGBM, 2000 trees, rate 0.05, early stopping."""
    X = categories(problem.X)
    held, train = rows[: len(rows) // 10], rows[len(rows) // 10 :]
    kind = lightgbm.LGBMClassifier if problem.task == "classification" else lightgbm.LGBMRegressor
    settings = {"objective": "poisson"} if problem.task == "poisson" else {}
    model = kind(n_estimators=2000, learning_rate=0.05, verbose=-1, **settings)
    offsets = {}
    if problem.task == "poisson":
        shift = np.log(problem.exposure)
        offsets = {"init_score": shift[train], "eval_init_score": [shift[held]]}
    stop = lightgbm.early_stopping(50, verbose=False)
    pair = (X.iloc[held], problem.y[held])
    model.fit(X.iloc[train], problem.y[train], eval_set=[pair], callbacks=[stop], **offsets)
    if problem.task == "classification":
        return lambda test: model.predict_proba(X.iloc[test])[:, 1]
    if problem.task == "poisson":
        return lambda test: np.exp(model.predict(X.iloc[test], raw_score=True)) * problem.exposure[test]
    return lambda test: model.predict(X.iloc[test])


def simple(make: Callable[[str], object], with_categories: bool = False) -> Callable[[Problem, np.ndarray], Predict]:
    """A scikit-learn pipeline; Poisson through rates weighted by exposure."""

    def fit(problem: Problem, rows: np.ndarray) -> Predict:
        X = categories(problem.X) if with_categories else problem.X
        model = make(problem.task)
        if problem.task == "poisson":
            weight = problem.exposure[rows]
            last = {} if with_categories else {f"{model.steps[-1][0]}__sample_weight": weight}
            model.fit(X.iloc[rows], problem.y[rows] / weight, **(last or {"sample_weight": weight}))
            return lambda test: model.predict(X.iloc[test]) * problem.exposure[test]
        model.fit(X.iloc[rows], problem.y[rows])
        if problem.task == "classification":
            return lambda test: model.predict_proba(X.iloc[test])[:, 1]
        return lambda test: model.predict(X.iloc[test])

    return fit


def hist_boosting(task: str) -> object:
    if task == "classification":
        return HistGradientBoostingClassifier(categorical_features="from_dtype")
    loss = "poisson" if task == "poisson" else "squared_error"
    return HistGradientBoostingRegressor(loss=loss, categorical_features="from_dtype")


def prepared(*numeric: object) -> object:
    numbers = make_pipeline(SimpleImputer(), *numeric)
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )


def head(task: str) -> object:
    return {
        "regression": RidgeCV(),
        "classification": LogisticRegression(max_iter=2000),
        "poisson": PoissonRegressor(),
    }[task]


def linear(task: str) -> object:
    return make_pipeline(prepared(StandardScaler()), head(task))


def spline(task: str) -> object:
    return make_pipeline(prepared(StandardScaler(), SplineTransformer(n_knots=12, knots="quantile")), head(task))


def network(task: str) -> object:
    kind = MLPClassifier if task == "classification" else MLPRegressor
    return make_pipeline(
        prepared(StandardScaler()), kind(hidden_layer_sizes=(64, 64), early_stopping=True, random_state=0)
    )


def additive_boosting(task: str) -> object:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    if task == "classification":
        return ExplainableBoostingClassifier()
    return ExplainableBoostingRegressor(objective="poisson_deviance" if task == "poisson" else "rmse")


def contestants(
    efforts: list[str], seed: int, task: str, with_ebm: bool
) -> dict[str, Callable[[Problem, np.ndarray], Predict]]:
    ours = {f"lambdak {effort}": spectral(effort, seed) for effort in efforts}
    peers = {"LightGBM": boosted, "HistGradientBoosting": simple(hist_boosting, with_categories=True)}
    peers |= {"spline GLM": simple(spline), "linear": simple(linear)}
    if task != "poisson":
        peers["MLP 64x64"] = simple(network)
    if with_ebm:
        peers["EBM"] = simple(additive_boosting, with_categories=True)
    return ours | peers


def compare(problem: Problem, splits: int, efforts: list[str], with_ebm: bool) -> None:
    results: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(problem.y))
        test, train = order[: len(order) // 5], order[len(order) // 5 :]
        for name, fit in contestants(efforts, seed, problem.task, with_ebm).items():
            began = time.perf_counter()
            predict = fit(problem, train)
            fitted = time.perf_counter()
            predicted = predict(test)
            done = time.perf_counter()
            results.setdefault(name, []).append((score(problem, test, predicted), fitted - began, done - fitted))
    print(f"\n## {problem.name}: {len(problem.y):,} rows, {problem.X.shape[1]} columns, {splits} splits\n")
    print(f"| | {MEASURE[problem.task]} (mean ± s.e.) | fit s | predict s |\n|---|---|---|---|")
    for name, rows in results.items():
        scores, fits, predicts = np.array(rows).T
        error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
        print(
            f"| {name} | {scores.mean():.4f} ± {error:.4f} | {np.median(fits):.2f} | {np.median(predicts):.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["california", "bike", "adult", "higgs", "fremtpl2"])
    parser.add_argument("--effort", nargs="+", default=["fast", "balanced", "best"])
    parser.add_argument("--ebm", action="store_true", help="EBM too, which takes minutes; needs interpret")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    for name in arguments.only:
        compare(load(name, arguments.data), arguments.splits, arguments.effort, arguments.ebm)


if __name__ == "__main__":
    main()

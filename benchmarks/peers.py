"""The contestants of the comparisons: lambdak and the libraries that its users would take instead.

Each is a function ``fit(problem, rows, seed, threads)`` that returns ``predict(rows)``, for all tasks of tables.py.
None is tuned. LightGBM and XGBoost have 2000 trees at rate 0.05, CatBoost its defaults, and all three stop early on a
tenth of the training rows; ChimeraBoost takes its validation rows itself; all else is every library's default, with its
own treatment of categories. Exposure is the offset of a Poisson model where the library has one (lambdak, LightGBM,
XGBoost, CatBoost, EBM), otherwise rates are weighted by it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler, TargetEncoder

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from tables import Problem, categories

Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[Problem, np.ndarray, int, int], Predict]

TREES = {"n_estimators": 2000, "learning_rate": 0.05}
PATIENCE = 50  # rounds without progress
MOST_BINS = 255  # levels that HistGradientBoosting accepts in a column
MISSING = "(missing)"


def is_classes(problem: Problem) -> bool:
    return problem.task in ("classification", "classes")


def output(model: Any, problem: Problem, X: Any) -> np.ndarray:
    """What tables.score wants of a fitted model: predictions, the probability of class 1, or those of all classes."""
    if problem.task == "classification":
        return model.predict_proba(X)[:, 1]
    return model.predict_proba(X) if problem.task == "classes" else model.predict(X)


def plain(model: Any, problem: Problem, X: pd.DataFrame, rows: np.ndarray) -> Predict:
    """Fit a scikit-learn estimator without offset."""
    model.fit(X.iloc[rows], problem.y[rows])
    return lambda test: output(model, problem, X.iloc[test])


def tenth(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, and the tenth that early stopping looks at; the rows come in random order."""
    return rows[len(rows) // 10 :], rows[: len(rows) // 10]


# ---- lambdak ------------------------------------------------------------------------------------------------------


def spectral(problem: Problem, rows: np.ndarray, seed: int, threads: int, effort: str = "balanced") -> Predict:
    settings = {"effort": effort, "random_state": seed, "n_jobs": threads}
    if problem.task != "poisson":
        kind = SpectralClassifier if is_classes(problem) else SpectralRegressor
        return plain(kind(**settings), problem, problem.X, rows)
    offset = np.log(problem.exposure)
    model = SpectralRegressor("poisson", **settings).fit(problem.X.iloc[rows], problem.y[rows], offset=offset[rows])
    return lambda test: model.predict(problem.X.iloc[test], offset=offset[test])


# ---- boosted trees ------------------------------------------------------------------------------------------------


def boosted(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """LightGBM."""
    import lightgbm

    X = categories(problem.X)
    train, held = tenth(rows)
    kind = lightgbm.LGBMClassifier if is_classes(problem) else lightgbm.LGBMRegressor
    settings = {"objective": "poisson"} if problem.task == "poisson" else {}
    model = kind(**TREES, verbose=-1, n_jobs=threads, random_state=seed, **settings)
    offsets = {}
    if problem.task == "poisson":
        shift = np.log(problem.exposure)
        offsets = {"init_score": shift[train], "eval_init_score": [shift[held]]}
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    pair = (X.iloc[held], problem.y[held])
    model.fit(X.iloc[train], problem.y[train], eval_set=[pair], callbacks=[stop], **offsets)
    if problem.task == "poisson":
        return lambda test: np.exp(model.predict(X.iloc[test], raw_score=True)) * problem.exposure[test]
    return lambda test: output(model, problem, X.iloc[test])


def extreme(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """XGBoost."""
    import xgboost

    X = categories(problem.X)
    train, held = tenth(rows)
    kind = xgboost.XGBClassifier if is_classes(problem) else xgboost.XGBRegressor
    settings = {"objective": "count:poisson"} if problem.task == "poisson" else {}
    model = kind(**TREES, early_stopping_rounds=PATIENCE, n_jobs=threads, random_state=seed, **settings)
    model.set_params(enable_categorical=True)
    offsets = {}
    if problem.task == "poisson":
        shift = np.log(problem.exposure)
        offsets = {"base_margin": shift[train], "base_margin_eval_set": [shift[held]]}
    model.fit(X.iloc[train], problem.y[train], eval_set=[(X.iloc[held], problem.y[held])], verbose=False, **offsets)
    if problem.task == "poisson":
        return lambda test: model.predict(X.iloc[test], base_margin=shift[test])
    return lambda test: output(model, problem, X.iloc[test])


def as_text(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Categories as text, because CatBoost refuses missing ones and floats; and the names of these columns."""
    words = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return X.assign(**{c: X[c].astype(object).where(X[c].notna(), MISSING).astype(str) for c in words}), words


def ordered(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """CatBoost: 1000 trees at a rate that it chooses, early stopping."""
    from catboost import CatBoostClassifier, CatBoostRegressor, Pool

    X, words = as_text(problem.X)
    shift = np.log(problem.exposure) if problem.task == "poisson" else None

    def pool(some: np.ndarray) -> Any:
        offsets = {} if shift is None else {"baseline": shift[some]}
        return Pool(X.iloc[some], problem.y[some], cat_features=words, **offsets)

    kind = CatBoostClassifier if is_classes(problem) else CatBoostRegressor
    settings = {} if shift is None else {"loss_function": "Poisson"}
    model = kind(random_seed=seed, thread_count=threads, verbose=False, allow_writing_files=False, **settings)
    train, held = tenth(rows)
    model.fit(pool(train), eval_set=pool(held), early_stopping_rounds=PATIENCE)
    if shift is not None:
        return lambda test: np.exp(model.predict(X.iloc[test], prediction_type="RawFormulaVal") + shift[test])
    return lambda test: output(model, problem, X.iloc[test])


def compile_chimera() -> None:
    """Compile ChimeraBoost's loops, which its first fit in a process would otherwise do."""
    from chimeraboost import warmup

    warmup()


def chimera(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """ChimeraBoost with its defaults: it stops early on a fifth of the training rows, then refits on all of them."""
    from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

    X, words = as_text(problem.X)
    kind = ChimeraBoostClassifier if is_classes(problem) else ChimeraBoostRegressor
    settings = {"loss": "Poisson"} if problem.task == "poisson" else {}
    model = kind(cat_features=words or None, random_state=seed, thread_count=threads, **settings)
    return weighted(model, problem, X, rows)


def hist_boosting(task: str) -> Any:
    """HistGradientBoosting with its defaults."""
    if task in ("classification", "classes"):
        return HistGradientBoostingClassifier(categorical_features="from_dtype")
    loss = "poisson" if task == "poisson" else "squared_error"
    return HistGradientBoostingRegressor(loss=loss, categorical_features="from_dtype")


def histogram(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """HistGradientBoosting; columns of more levels than it accepts get scikit-learn's cross-fitted target encoding."""
    X, model = categories(problem.X), hist_boosting(problem.task).set_params(random_state=seed)
    wide = [c for c in X.select_dtypes("category") if X[c].nunique() > MOST_BINS]
    if wide:
        encode = make_column_transformer(
            (TargetEncoder(random_state=seed), wide), remainder="passthrough", verbose_feature_names_out=False
        )
        model = make_pipeline(encode.set_output(transform="pandas"), model)
    return weighted(model, problem, X, rows)


def additive_boosting(task: str) -> Any:
    """EBM with its defaults."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    if task in ("classification", "classes"):
        return ExplainableBoostingClassifier()
    return ExplainableBoostingRegressor(objective="poisson_deviance" if task == "poisson" else "rmse")


def additive(problem: Problem, rows: np.ndarray, seed: int, threads: int) -> Predict:
    """EBM."""
    X, model = categories(problem.X), additive_boosting(problem.task).set_params(random_state=seed, n_jobs=threads)
    if problem.task == "classes":
        model.set_params(interactions=0)  # it has none for several classes
    if problem.task != "poisson":
        return plain(model, problem, X, rows)
    shift = np.log(problem.exposure)
    model.fit(X.iloc[rows], problem.y[rows], init_score=shift[rows])
    return lambda test: model.predict(X.iloc[test], init_score=shift[test])


# ---- networks and baselines ---------------------------------------------------------------------------------------


def network(problem: Problem, rows: np.ndarray, seed: int, threads: int, kind: str = "RealMLP_TD") -> Predict:
    """RealMLP or TabM with the tuned defaults of pytabkit; the mean for missing numbers, which they refuse."""
    import pytabkit

    if problem.task == "poisson":
        raise NotImplementedError("pytabkit has no Poisson loss")
    model = getattr(pytabkit, f"{kind}_{'Classifier' if is_classes(problem) else 'Regressor'}")
    X = categories(problem.X)
    numbers = X.select_dtypes("number").astype(np.float32)
    X = X.assign(**numbers.fillna(numbers.iloc[rows].mean()))
    return plain(model(device="cpu", random_state=seed, n_threads=threads, verbosity=0), problem, X, rows)


def weighted(model: Any, problem: Problem, X: pd.DataFrame, rows: np.ndarray) -> Predict:
    """Fit an estimator or a pipeline; Poisson through rates weighted by exposure."""
    if problem.task != "poisson":
        return plain(model, problem, X, rows)
    weight = problem.exposure[rows]
    prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    model.fit(X.iloc[rows], problem.y[rows] / weight, **{f"{prefix}sample_weight": weight})
    return lambda test: model.predict(X.iloc[test]) * problem.exposure[test]


def generalised(problem: Problem, rows: np.ndarray, seed: int, threads: int, knots: int = 0) -> Predict:
    """A linear model, or with ``knots`` one of splines of each column."""
    curves = [SplineTransformer(n_knots=knots, knots="quantile")] if knots else []
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), *curves)
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    )
    is_number = make_column_selector(dtype_include="number")
    encode = make_column_transformer((numbers, is_number), (words, make_column_selector(dtype_exclude="number")))
    ends = {"regression": RidgeCV(np.logspace(-2, 4, 13)), "poisson": PoissonRegressor(max_iter=300)}
    model = make_pipeline(encode, ends.get(problem.task, LogisticRegression(max_iter=2000)))
    return weighted(model, problem, problem.X, rows)


# ---- the registry -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A contestant, and the module it needs."""

    fit: Fit
    module: str
    optional: bool = False  # only where it is asked for: takes minutes, or needs more than the test tools
    prepare: Callable[[], None] = lambda: None  # what must happen once in a process before anything is timed

    @property
    def installed(self) -> bool:
        """Whether the module can be imported."""
        return importlib.util.find_spec(self.module) is not None

    @cached_property
    def version(self) -> str:
        """Of the library; of lambdak with a hash of its files, so that no result of other code is taken for its own."""
        if self.module == "lambdak":
            return f"{lambdak.__version__}+{source_hash()}"
        return metadata.version(metadata.packages_distributions()[self.module][0])


@cache
def source_hash() -> str:
    """The first digits of the SHA-1 of lambdak's modules and compiled kernel."""
    root = Path(lambdak.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".so", ".pyd"))
    return hashlib.sha1(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


METHODS = {
    "lambdak-fast": Method(partial(spectral, effort="fast"), "lambdak"),
    "lambdak-balanced": Method(spectral, "lambdak"),
    "lambdak-best": Method(partial(spectral, effort="best"), "lambdak"),
    "LightGBM": Method(boosted, "lightgbm"),
    "XGBoost": Method(extreme, "xgboost"),
    "CatBoost": Method(ordered, "catboost"),
    "ChimeraBoost": Method(chimera, "chimeraboost", prepare=compile_chimera),
    "HistGradientBoosting": Method(histogram, "sklearn"),
    "spline": Method(partial(generalised, knots=12), "sklearn"),
    "linear": Method(generalised, "sklearn"),
    "EBM": Method(additive, "interpret", optional=True),
    "RealMLP": Method(partial(network, kind="RealMLP_TD"), "pytabkit", optional=True),
    "TabM": Method(partial(network, kind="TabM_D"), "pytabkit", optional=True),
}


def chosen_methods(parser: argparse.ArgumentParser, names: list[str] | None, optional: bool) -> list[str]:
    """The methods that were asked for, or all but the optional ones, as far as they are installed."""
    names = names or [name for name, method in METHODS.items() if optional or not method.optional]
    if unknown := set(names) - set(METHODS):
        parser.error(f"--methods must be some of {', '.join(METHODS)}; got {', '.join(sorted(unknown))}")
    for name in names:
        if not METHODS[name].installed:
            print(f"{name} is ignored: {METHODS[name].module} is not installed")
    return [name for name in names if METHODS[name].installed]

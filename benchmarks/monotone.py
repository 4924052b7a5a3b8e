"""Monotone columns: the published benchmark beside re-run peers, and what the guarantee costs and prevents.

usage: python benchmarks/monotone.py [tables | cross | violations] [--data DIR] [--only heart ...]
                                     [--seeds 5] [--repeats 4] [--pairs 1000000] [--peer-pairs 1000000]

tables: COMPAS, Blog, Auto MPG and Heart on their given splits. Nothing is chosen on test rows: LightGBM and XGBoost
stop early on a tenth of the training rows, the tuned HistGradientBoosting is chosen by 5-fold cross-validation on
them, and the test split is scored once per seed.

cross: their training rows alone, by repeated 5-fold cross-validation, because the given test splits are small (61 rows
of Heart: one row is 1.6 points). The standard error of a difference to lambdak is over folds and counts that their
training rows overlap (Nadeau & Bengio 2003), so that repeats do not make it look smaller than it is. Blog takes long:
ask for it by name.

violations: california, adult and fremtpl2, split as in ranks.py with seed 0. Each model is fitted free and with
monotone columns, LightGBM by its usual method and by "advanced", which constrains less; then one such column of a
random test row is set to two random values a < b within its range, and f(b) < f(a) is counted. f is the
prediction (regression), the log-odds (classification) or the rate (Poisson); its spread is its standard deviation over
the test rows. Peers that predict slowly may get fewer pairs.

Needs lightgbm and pandas; XGBoost and EBM are run if xgboost and interpret are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import mean_squared_error, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, RepeatedStratifiedKFold

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from peers import additive_boosting, hist_boosting
from tables import DATA, Problem, categories, load, score

CHUNK = 50_000  # pairs predicted at once
GRID = {"learning_rate": (0.03, 0.1), "max_leaf_nodes": (7, 31), "l2_regularization": (0.0, 10.0)}

CRIMES = ("priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")
COMMENTS = ("A51", "A52", "A53", "A54", "A56", "A57", "A58", "A59")
TABLES = {  # name: file, target, other columns to drop, measure, monotone columns
    "compas": ("compas", "ground_truth", [], "accuracy %", dict.fromkeys(CRIMES, 1)),
    "blog": ("blog", "target_norm", ["target"], "RMSE", dict.fromkeys(COMMENTS, 1)),
    "auto": ("auto_mpg", "ground_truth", [], "MSE", {"Displacement": -1, "Horsepower": -1, "Weight": -1}),
    "heart": ("heart", "target", [], "accuracy", {"trestbps": 1, "chol": 1}),
}
MEASURES = {
    "accuracy": lambda y, raw: np.mean((raw > 0) == y),
    "accuracy %": lambda y, raw: 100 * np.mean((raw > 0) == y),
    "MSE": mean_squared_error,
    "RMSE": root_mean_squared_error,
}

# As printed in Liu 2020, Sivaraman 2020, Nolte 2022, Runje 2023, Kim & Lee 2024 and later; columns as in TABLES.
PUBLISHED = {
    "isotonic": ("67.6", ".203", "", ""),
    "XGBoost": ("68.5", ".176", "", ""),
    "deep lattice (DLN)": ("67.9", ".161", "13.34", ".86"),
    "min-max net": ("67.8", ".163", "10.14", ".75"),
    "certified net": ("68.8", ".158", "", ""),
    "COMET": ("", "", "8.81", ".86"),
    "Lipschitz monotone net (LMN)": ("69.3", ".160", "7.58", ".90"),
    "constrained monotone net": ("69.2", ".156", "8.37", ".89"),
    "scalable monotone net (SMNN)": ("69.3", "", "7.44", ".88"),
    "best printed so far": ("69.4", ".151", "5.82", ".92"),
}

NATURAL = {  # domain judgement, not from a paper
    "california": {"median_income": 1},
    "adult": {"capital_gain": 1, "hours_per_week": 1, "education_num": 1},
    "fremtpl2": {"BonusMalus": 1, "Density": 1},
}

# ---- the contestants: fit(train, signs, seed) -> f, the prediction, log-odds or rate of the rows of a table --------

Signs = dict[str, int]
Predict = Callable[[pd.DataFrame], np.ndarray]
Fit = Callable[[Problem, Signs, int], Predict]


def subset(problem: Problem, rows: np.ndarray) -> Problem:
    exposure = None if problem.exposure is None else problem.exposure[rows]
    return replace(problem, X=problem.X.iloc[rows], y=problem.y[rows], exposure=exposure)


def tenth(train: Problem, seed: int) -> tuple[Problem, Problem]:
    """The training rows, and a tenth of them held out for early stopping."""
    order = np.random.default_rng(seed).permutation(len(train.y))
    return subset(train, order[len(order) // 10 :]), subset(train, order[: len(order) // 10])


def spectral(train: Problem, signs: Signs, seed: int, effort: str = "balanced") -> Predict:
    settings = {"monotonic_cst": signs or None, "effort": effort, "random_state": seed}
    if train.task == "classification":
        return SpectralClassifier(**settings).fit(train.X, train.y).decision_function
    if train.task == "poisson":
        return SpectralRegressor("poisson", **settings).fit(train.X, train.y, offset=np.log(train.exposure)).predict
    return SpectralRegressor(**settings).fit(train.X, train.y).predict


def histogram(train: Problem, signs: Signs, seed: int, grid: dict[str, tuple] | None = None) -> Predict:
    """HistGradientBoosting, untuned or chosen from a grid by 5-fold cross-validation."""
    model = hist_boosting(train.task).set_params(monotonic_cst=signs, random_state=seed)
    classes = train.task == "classification"
    if grid:
        scoring = "neg_log_loss" if classes else "neg_mean_squared_error"
        model = GridSearchCV(model, grid, scoring=scoring, cv=KFold(5, shuffle=True, random_state=seed))
    model.fit(train.X, train.y)
    return model.decision_function if classes else model.predict


def boosted(train: Problem, signs: Signs, seed: int, method: str = "basic") -> Predict:
    """LightGBM with the settings of peers.py."""
    fitted, held = tenth(train, seed)
    kind = lightgbm.LGBMClassifier if train.task == "classification" else lightgbm.LGBMRegressor
    settings = {"objective": "poisson"} if train.task == "poisson" else {}
    if signs:
        settings["monotone_constraints"] = [signs.get(column, 0) for column in train.X]
        settings["monotone_constraints_method"] = method
    # n_jobs=0 leaves the number of threads to OpenMP, so OMP_NUM_THREADS holds for every model here.
    model = kind(n_estimators=2000, learning_rate=0.05, verbose=-1, n_jobs=0, random_state=seed, **settings)
    offsets = {}
    if train.task == "poisson":
        offsets = {"init_score": np.log(fitted.exposure), "eval_init_score": [np.log(held.exposure)]}
    stop = lightgbm.early_stopping(50, verbose=False)
    model.fit(fitted.X, fitted.y, eval_set=[(held.X, held.y)], callbacks=[stop], **offsets)
    return partial(model.predict, raw_score=train.task == "classification")


def extreme(train: Problem, signs: Signs, seed: int) -> Predict:
    """XGBoost, trees and early stopping as for LightGBM."""
    from xgboost import XGBClassifier, XGBRegressor

    fitted, held = tenth(train, seed)
    kind = XGBClassifier if train.task == "classification" else XGBRegressor
    model = kind(n_estimators=2000, learning_rate=0.05, early_stopping_rounds=50, random_state=seed)
    model.set_params(monotone_constraints=signs, enable_categorical=True)
    offsets = {}
    if train.task == "poisson":
        model.set_params(objective="count:poisson")
        offsets = {"base_margin": np.log(fitted.exposure), "base_margin_eval_set": [np.log(held.exposure)]}
    model.fit(fitted.X, fitted.y, eval_set=[(held.X, held.y)], verbose=False, **offsets)
    if train.task == "poisson":
        return lambda X: model.predict(X, base_margin=np.zeros(len(X)))
    return partial(model.predict, output_margin=True)


def additive(train: Problem, signs: Signs, seed: int, threads: int = -2) -> Predict:
    """EBM with defaults, -2 threads among them: all CPUs but one."""
    constraints = [signs.get(column, 0) for column in train.X] if signs else None
    model = additive_boosting(train.task).set_params(monotone_constraints=constraints, random_state=seed)
    model.set_params(n_jobs=threads)
    if train.task == "poisson":
        model.set_params(objective="poisson_deviance")
        return model.fit(train.X, train.y, init_score=np.log(train.exposure)).predict
    model.fit(train.X, train.y)
    return model.decision_function if train.task == "classification" else model.predict


# ---- tables ------------------------------------------------------------------------------------------------------


def load_split(name: str, folder: Path) -> tuple[Problem, Problem]:
    file, target, dropped, measure, _ = TABLES[name]
    task = "classification" if measure.startswith("accuracy") else "regression"
    frames = (pd.read_parquet(folder / f"monotone_{file}_{side}.parquet") for side in ("train", "test"))
    train, test = (
        Problem(name, task, frame.drop(columns=[target, *dropped]), frame[target].to_numpy()) for frame in frames
    )
    return train, test


MOST_TUNED = 20_000  # rows: 41 fits per seed take too long beyond
FOLDS = 5


def contestants(train: Problem) -> dict[str, Fit]:
    fits: dict[str, Fit] = {"lambdak": spectral, "HistGradientBoosting": histogram}
    if len(train.y) <= MOST_TUNED:
        fits["HistGradientBoosting, tuned"] = partial(histogram, grid=GRID)
    fits |= {"LightGBM": boosted, "LightGBM, advanced": partial(boosted, method="advanced")}
    if importlib.util.find_spec("xgboost"):
        fits["XGBoost"] = extreme
    return fits


def run_tables(names: list[str], folder: Path, seeds: int) -> None:
    cells: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        train, test = load_split(name, folder)
        measure, signs = TABLES[name][3:]
        for contestant, fit in contestants(train).items():
            print(f"{name}: {contestant}", file=sys.stderr)
            scores = [MEASURES[measure](test.y, fit(train, signs, seed)(test.X)) for seed in range(seeds)]
            cells.setdefault(contestant, ["not run"] * len(names))[place] = spread_over_seeds(scores)
    headers = [f"{name} {TABLES[name][3]}" for name in names]
    print(f"\n## Monotone tables: test score, mean ± standard deviation over {seeds} seeds\n")
    print_table(headers, cells)
    print("\n## Published: quoted from the papers, not run here (several choose the model on the test set)\n")
    wanted = [list(TABLES).index(name) for name in names]
    print_table(headers, {method: [row[i] for i in wanted] for method, row in PUBLISHED.items()})


def spread_over_seeds(scores: list[float]) -> str:
    """Mean ± standard deviation with four significant digits of the mean."""
    digits = max(0, 3 - int(np.floor(np.log10(np.mean(scores)))))
    deviation = np.std(scores, ddof=1) if len(scores) > 1 else np.nan
    return f"{np.mean(scores):.{digits}f} ± {deviation:.{digits}f}"


def run_cross(name: str, folder: Path, repeats: int) -> None:
    train, _ = load_split(name, folder)
    measure, signs = TABLES[name][3:]
    kind = RepeatedStratifiedKFold if train.task == "classification" else RepeatedKFold
    folds = list(kind(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(train.X, train.y))
    scores: dict[str, np.ndarray] = {}
    for contestant, fit in contestants(train).items():
        print(f"{name}: {contestant}", file=sys.stderr)
        scores[contestant] = np.empty(len(folds))
        for i, (rows, held) in enumerate(folds):
            predict, test = fit(subset(train, rows), signs, i), subset(train, held)
            scores[contestant][i] = MEASURES[measure](test.y, predict(test.X))
    print(f"\n## {name}: {FOLDS}-fold cross-validation on {len(train.y):,} training rows, {repeats} repeats\n")
    cells = {label: [f"{some.mean():.4g}", paired(some - scores["lambdak"])] for label, some in scores.items()}
    print_table([f"mean {measure}", "difference to lambdak"], cells)


def paired(differences: np.ndarray) -> str:
    """Mean difference over the folds ± its standard error, corrected for training rows that folds share."""
    if not differences.any():
        return ""
    error = np.std(differences, ddof=1) * np.sqrt(1 / len(differences) + 1 / (FOLDS - 1))
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{differences.mean():+.{digits}f} ± {error:.{digits}f}"


def print_table(headers: list[str], rows: dict[str, list[str]]) -> None:
    print(f"| | {' | '.join(headers)} |\n|---|{'---|' * len(headers)}")
    for label, cells in rows.items():
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


# ---- violations ----------------------------------------------------------------------------------------------------


def random_pairs(X: pd.DataFrame, signs: Signs, pairs: int) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Chunks of (low, high): random rows that differ in one monotone column; integers stay integers."""
    rng = np.random.default_rng(0)
    for begin in range(0, pairs, CHUNK):
        count = min(CHUNK, pairs - begin)
        low = X.iloc[rng.integers(len(X), size=count)].reset_index(drop=True)
        high, chosen = low.copy(), rng.integers(len(signs), size=count)
        for i, (name, sign) in enumerate(signs.items()):
            rows = np.flatnonzero(chosen == i)
            first, last = X[name].min(), X[name].max()
            if pd.api.types.is_integer_dtype(X[name]):
                values = rng.integers([[first], [first]], [[last + 1], [last]], size=(2, len(rows)))
                values[1] += values[1] >= values[0]  # two different values, every pair equally likely
            else:
                values = rng.uniform(first, last, (2, len(rows)))
            column = low.columns.get_loc(name)
            values = (np.sort(values * sign, axis=0) * sign).astype(X[name].dtype)
            low.iloc[rows, column], high.iloc[rows, column] = values
        yield low, high


def count_violations(predict: Predict, test: Problem, signs: Signs, pairs: int) -> tuple[int, int, float]:
    """How often f falls at all, how often by more than 1e-6 of its spread, and its worst fall in spreads."""
    spread = np.std(predict(test.X))
    some, clear, worst = 0, 0, 0.0
    for low, high in random_pairs(test.X, signs, pairs):
        fall = predict(low) - predict(high)
        some += np.count_nonzero(fall > 0)
        clear += np.count_nonzero(fall > 1e-6 * spread)
        worst = np.maximum(worst, fall.max() / spread)  # unlike max, shows a NaN
    return some, clear, worst


def run_violations(name: str, folder: Path, pairs: int, peer_pairs: int) -> None:
    signs, problem = NATURAL[name], load(name, folder)
    problem = replace(problem, X=categories(problem.X))
    order = np.random.default_rng(0).permutation(len(problem.y))
    held, rows = order[: len(order) // 5], order[len(order) // 5 :]
    train, test = subset(problem, rows), subset(problem, held)
    fits: dict[str, Fit] = {"lambdak": spectral, "LightGBM": boosted}
    fits["LightGBM, advanced"] = partial(boosted, method="advanced")
    if importlib.util.find_spec("interpret"):
        fits["EBM"] = additive
    measure = {"regression": "R²", "classification": "AUC", "poisson": "deviance"}[problem.task]
    print(f"\n## {name}: +{', +'.join(signs)}\n")
    cells: dict[str, list[str]] = {}
    for contestant, fit in fits.items():
        scores = []
        for kind, chosen in (("free", {}), ("monotone", signs)):
            print(f"{name}: {contestant}, {kind}", file=sys.stderr)
            predict = fit(train, chosen, 0)
            predicted = predict(test.X) * (1 if test.exposure is None else test.exposure)
            scores.append(score(problem, held, predicted))
            change = f"{100 * (scores[-1] / scores[0] - 1):+.2f} %" if chosen else ""
            tried = pairs if contestant == "lambdak" else peer_pairs
            some, clear, worst = count_violations(predict, test, signs, tried)
            counts = [f"{tried:,}", f"{some:,}", f"{clear:,}", f"{worst:.2g}"]
            cells[f"{contestant}, {kind}"] = [f"{scores[-1]:.4f}", change, *counts]
    print_table([measure, "against free", "pairs", "violations", "> 1e-6 spread", "worst, in spreads"], cells)


def main() -> None:
    names = [*TABLES, *NATURAL]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="all", choices=["tables", "cross", "violations", "all"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--seeds", type=int, default=5, help="fits per contestant of the tables")
    parser.add_argument("--repeats", type=int, default=4, help="repeats of the cross-validation")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="random pairs per model of the violations")
    parser.add_argument("--peer-pairs", type=int, help="random pairs per model of a peer, if not as many")
    parser.add_argument("--only", nargs="+", choices=names)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    only = arguments.only or names
    tables, natural = ([name for name in known if name in only] for known in (TABLES, NATURAL))
    if tables and arguments.part in ("tables", "all"):
        run_tables(tables, arguments.data, arguments.seeds)
    if arguments.part in ("cross", "all"):
        for name in tables:
            if name != "blog" or arguments.only:
                run_cross(name, arguments.data, arguments.repeats)
    if arguments.part in ("violations", "all"):
        for name in natural:
            run_violations(name, arguments.data, arguments.pairs, arguments.peer_pairs or arguments.pairs)


if __name__ == "__main__":
    main()

"""Lines about time and size: fits of several sizes, a convex fit, one row, a pickle."""

from __future__ import annotations

import importlib.util
import pickle
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from contest import median_seconds, parts
from lambdak import SpectralClassifier, SpectralRegressor
from tables import categories, load
from weakness.line import FIT, THREADS, Figures, Weakness, contest, seconds_of
from weakness.synthetic import million, sized

REPEATS = 5
CALLS = 300

SIZES = {  # rows, columns, task, and what the issue had measured
    "fit-1000": (1_000, 9, "classification", ".55 s, LightGBM .03 s"),
    "fit-5800": (5_800, 85, "classification", "3.0 s, LightGBM .13 s"),
    "fit-10000": (10_000, 23, "classification", "1.7 s, LightGBM .18 s"),
    "fit-classes": (6_400, 36, "classes", "six classes: 12 s, LightGBM 1.2 s"),
    "fit-15000": (15_000, 27, "regression", "2.6 s, LightGBM 1.2 s"),
    "fit-150000": (150_000, 10, "classification", "3.6 s, LightGBM 1.2 s"),
}


def convex(_: Path, split: int) -> Figures:
    """20,000 rows, five columns: ours convex, beside ours free."""
    rng = np.random.default_rng(split)
    X = rng.uniform(-1, 1, (25_000, 5))
    exact = np.linalg.norm(X @ rng.standard_normal((5, 4)), axis=1) + (X**2).sum(axis=1)
    y = exact + 0.1 * exact.std() * rng.standard_normal(len(X))
    train, test = parts(len(X), split)
    figures: Figures = {"R²": {}, FIT: {}}
    for effort in ("fast", "balanced"):
        for label, shape in (("convex", "convex"), ("free", None)):
            model = SpectralRegressor(effort=effort, shape=shape, random_state=split, n_jobs=THREADS)
            _model, seconds = median_seconds(partial(model.fit, X[train], y[train]), REPEATS)
            name = f"lambdak-{effort}, {label}"
            figures["R²"][name], figures[FIT][name] = model.score(X[test], y[test]), seconds
    return figures


def small_models(folder: Path, split: int) -> tuple[Any, dict[str, Any]]:
    """A table, and ours and LightGBM fitted to it."""
    import lightgbm

    problem = load("adult", folder)
    X, y = categories(problem.X), problem.y
    trees = lightgbm.LGBMClassifier(n_estimators=200, learning_rate=0.05, verbose=-1, n_jobs=THREADS).fit(X, y)
    ours = SpectralClassifier(random_state=split, n_jobs=THREADS).fit(X, y)
    return X, {"lambdak-balanced": ours, "LightGBM": trees}


def milliseconds(models: dict[str, Any], row: Any) -> dict[str, float]:
    """Of a call of predict."""
    return {name: 1e3 * seconds_of(partial(model.predict, row), CALLS) for name, model in models.items()}


def one_row(folder: Path, split: int) -> Figures:
    """Milliseconds of a prediction for one row: from pandas (14 columns, 8 of them categories), polars and NumPy."""
    X, models = small_models(folder, split)
    row = X.iloc[:1]
    figures: Figures = {"ms, one pandas row": milliseconds(models, row)}
    if importlib.util.find_spec("polars"):
        import polars

        ours = {"lambdak-balanced": models["lambdak-balanced"]}
        figures["ms, one polars row"] = milliseconds(ours, polars.from_pandas(row))
    return figures | {"ms, one NumPy row": numpy_row(folder, split)}


def numpy_row(folder: Path, split: int) -> dict[str, float]:
    """The same for eight numbers."""
    import lightgbm

    problem = load("kin8nm", folder)
    X, y = problem.X.to_numpy(), problem.y
    trees = lightgbm.LGBMRegressor(n_estimators=200, learning_rate=0.05, verbose=-1, n_jobs=THREADS).fit(X, y)
    models = {"lambdak-balanced": SpectralRegressor(random_state=split, n_jobs=THREADS).fit(X, y), "LightGBM": trees}
    return milliseconds(models, X[:1])


def pickle_size(folder: Path, split: int) -> Figures:
    """Megabytes of a pickle and of a saved file."""
    _, models = small_models(folder, split)
    sizes = {name: len(pickle.dumps(model)) / 1e6 for name, model in models.items()}
    with tempfile.TemporaryDirectory() as place:
        models["lambdak-balanced"].save(Path(place) / "model.lambdak")
        sizes["lambdak-balanced, saved file"] = (Path(place) / "model.lambdak").stat().st_size / 1e6
    return {"MB, pickle": sizes}


TIMES = {
    **{
        name: Weakness(
            f"fit, {rows:,} × {columns}, {task}",
            before,
            contest(partial(sized, rows, columns, task), repeats=REPEATS),
        )
        for name, (rows, columns, task, before) in SIZES.items()
    },
    "million": Weakness("10⁶ rows × 15", "36 s, R² .995; LightGBM 24 s, .987", contest(million)),
    "convex": Weakness("convex, 20,000 × 5", "6.0 s, free 0.7 s", convex),
    "one-row": Weakness("one row, predict (adult, kin8nm)", "3.7 ms, LightGBM 3.4 ms from pandas", one_row),
    "pickle": Weakness("pickle (adult)", "3.2 MB, 9 times the saved file; LightGBM .8 MB", pickle_size),
}

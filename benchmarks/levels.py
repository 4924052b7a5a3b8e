"""Categories of many levels: lambdak against LightGBM and CatBoost, R² on unseen rows and seconds of the fit.

Random effects and random slopes of 300 to 100,000 levels with 20 rows each (fewer where the rows are capped), and the
tail numbers of flights. LightGBM stops early on a tenth of the rows, CatBoost has its defaults; both know which columns
are categories.

    python benchmarks/levels.py [--levels 300 600 1000] [--rows 300000] [--without catboost]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

import lambdak
import tables

LEVELS = (300, 600, 1_000, 10_000, 100_000)
ROWS_OF_A_LEVEL = 20
FLIGHTS = 80_000

Data = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]
Predict = Callable[[pd.DataFrame], np.ndarray]


def random_effects(levels: int, most: int) -> Data:
    """Training rows and as many others: effects and slopes of levels, a wave, and noise."""
    rng = np.random.default_rng(levels)
    rows = min(levels * ROWS_OF_A_LEVEL, most)
    code = rng.permutation(np.resize(np.arange(levels), 2 * rows))
    effect, slope, x = rng.standard_normal(levels), rng.standard_normal(levels), rng.standard_normal((2 * rows, 3))
    y = effect[code] + np.sin(2 * x[:, 0]) + 0.5 * slope[code] * x[:, 1] + 0.7 * rng.standard_normal(2 * rows)
    X = pd.DataFrame(x, columns=["a", "b", "c"]).assign(code=pd.Categorical([f"level {i}" for i in code]))
    return X[:rows], y[:rows], X[rows:], y[rows:]


def flights() -> Data:
    """Half of a sample of flights, and the other half."""
    problem = tables.load("flights")
    rows = np.random.default_rng(12345).choice(len(problem.y), FLIGHTS, replace=False)
    first, second = rows[: FLIGHTS // 2], rows[FLIGHTS // 2 :]
    return problem.X.iloc[first], problem.y[first], problem.X.iloc[second], problem.y[second]


def spectral(effort: str) -> Callable[[pd.DataFrame, np.ndarray], Predict]:
    """A model of ours."""
    return lambda X, y: lambdak.SpectralRegressor(effort=effort, random_state=0, n_jobs=2).fit(X, y).predict


def lightgbm(X: pd.DataFrame, y: np.ndarray) -> Predict:
    """With early stopping."""
    import lightgbm as lgb

    seen = np.random.default_rng(0).random(len(y)) > 0.1
    model = lgb.LGBMRegressor(n_estimators=2000, learning_rate=0.05, n_jobs=2, verbose=-1)
    stop = [lgb.early_stopping(50, verbose=False)]
    model.fit(X[seen], y[seen], eval_set=[(X[~seen], y[~seen])], callbacks=stop)
    return model.predict


def catboost(X: pd.DataFrame, y: np.ndarray) -> Predict:
    """With its defaults."""
    from catboost import CatBoostRegressor

    names = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
    model = CatBoostRegressor(cat_features=names, thread_count=2, verbose=0, allow_writing_files=False)
    model.fit(_as_text(X, names), y)
    return lambda X: model.predict(_as_text(X, names))


def _as_text(X: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Categories as strings, missing ones among them."""
    return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in names})


MODELS = {"fast": spectral("fast"), "balanced": spectral("balanced"), "lightgbm": lightgbm, "catboost": catboost}


def measured(fit: Callable[[pd.DataFrame, np.ndarray], Predict], data: Data) -> str:
    """R² on the other rows, and seconds of the fit."""
    X, y, other, unseen = data
    began = time.perf_counter()
    predict = fit(X, y)
    seconds = time.perf_counter() - began
    return f"{r2_score(unseen, predict(other)):.4f} {seconds:7.1f} s"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, nargs="*", default=LEVELS)
    parser.add_argument("--rows", type=int, default=300_000, help="most training rows")
    parser.add_argument("--without", nargs="*", default=[], help="models to leave out")
    given = parser.parse_args()
    models = {name: fit for name, fit in MODELS.items() if name not in given.without}
    print(f"{'levels':>16} " + " ".join(f"{name:>16}" for name in models))
    cases = {f"{levels:,}": random_effects(levels, given.rows) for levels in given.levels}
    for name, data in (cases | {"flights (tailnum)": flights()}).items():
        cells = []
        for fit in models.values():
            cells.append(f"{measured(fit, data):>16}")
        print(f"{name:>16} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()

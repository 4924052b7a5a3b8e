"""Times to an event whose law is known, observed in every way, and one small fitted model that tests share."""

from functools import cache

import numpy as np

from lambdak import SpectralSurvival
from lambdak.losses.survival import Survival

SHAPE = 1.5  # of the Weibull law of the simulated times


def risks(X):
    """The logarithm of the hazard ratio of each row."""
    return 0.8 * X[:, 0] - 0.5 * X[:, 1]


def simulated(rows=400, seed=0):
    """Columns, times and events: P(T > t | x) = exp(−e^risk t^1.5), censored at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    time = (rng.exponential(size=rows) / np.exp(risks(X))) ** (1 / SHAPE)
    seen = rng.exponential(2.0, size=rows)
    return X, np.minimum(time, seen), time <= seen


def structured(time, event):
    """As scikit-survival has it."""
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


def lines_of_all_kinds(rows=40, seed=0):
    """Lines of events, censored rows of every kind, and late entries."""
    rng = np.random.default_rng(seed)
    time, code = rng.weibull(SHAPE, rows) + 0.1, np.arange(rows) % 4.0
    lower = np.select([code == 2, code == 3], [0.5 * time, 0.0], time)
    entry = np.where((rng.random(rows) < 0.4) & (code != 3), 0.3 * lower, 0.0)
    return np.column_stack([code, entry, lower, time])


def resolved(kind, lines, knots=5):
    """A loss with its knots."""
    return Survival(kind, knots=knots).resolved(lines)


@cache
def fitted_survival():
    """A small model with a column that raises the probability of an event, one that lowers it and a free one."""
    X, time, event = simulated()
    model = SpectralSurvival(
        "cloglog", dim=3, effort="fast", n_estimators=2, max_iter=6, monotonic_cst=[1, -1, 0], random_state=0
    )
    return model.fit(X, structured(time, event))

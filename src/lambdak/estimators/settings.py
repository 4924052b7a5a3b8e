"""The parameters of estimators: from a constructor to the settings of a fit, and written once for all docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from lambdak._checks import check_int, check_non_negative
from lambdak.eigen.runtime import thread_count
from lambdak.model.model import MAX_DIM, MAX_MEMBERS, Model
from lambdak.model.rows import column_place
from lambdak.shapes.requested import listed
from lambdak.training.effort import RECIPES, Recipe
from lambdak.training.settings import AUTO_ROWS, FitSettings

# Settings that may change where training continues; "dim" and "n_estimators" are compared with the model itself.
_FREE = frozenset({
    "dim", "n_estimators", "effort", "max_iter", "early_stopping", "scoring", "validation_fraction",
    "n_iter_no_change", "tol", "balance", "warm_start", "verbose", "random_state", "n_jobs", "class_weight",
    "protected_features",
})  # fmt: skip
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:[ \t]+[^\n]*\n|\n)*)", re.MULTILINE)


def fit_settings(estimator: Any) -> FitSettings:
    """What a user has set, checked."""
    from lambdak.training.scoring import check_scoring

    early, patience = _stopping(estimator)
    least = AUTO_ROWS if isinstance(early, str) else 0
    return FitSettings(
        recipe=_recipe(estimator),
        eig_idx=estimator.eig_idx,
        shape=estimator.shape,
        monotonic_cst=estimator.monotonic_cst,
        max_influence=estimator.max_influence,
        interaction_cst=estimator.interaction_cst,
        constraints=estimator.constraints,
        categorical_features=estimator.categorical_features,
        max_categories=_categories(estimator.max_categories),
        n_knots=_knots(estimator.n_knots),
        alpha=_alpha(estimator.alpha),
        max_iter=estimator.max_iter,
        patience=patience if early else None,
        tol=check_non_negative(estimator.tol, "tol") if early else 0.0,
        validation_fraction=_fraction(estimator.validation_fraction),
        balance=_flag(estimator.balance, "balance"),
        threads=thread_count(estimator.n_jobs),
        verbose=_verbosity(estimator.verbose),
        own_dim=estimator.dim is not None,
        stopping_rows=least,
        scoring=check_scoring(estimator.scoring),
        calibrate_by=getattr(estimator, "calibrate_by", None),
    )


def protected_columns(estimator: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns that letters must not name."""
    given = estimator.protected_features
    columns = [] if given is None else [given] if isinstance(given, str | int) else list(given)
    try:
        return tuple(names[column_place(names, column)] for column in columns)
    except ValueError as error:
        raise ValueError(f"protected_features: {error}") from None


def _stopping(estimator: Any) -> tuple[bool | str, int]:
    """Whether to stop early, and after how many epochs without progress; what ends training is checked in any case."""
    if estimator.max_iter is not None:
        check_int(estimator.max_iter, "max_iter", 1, 2**31)
    _flag(estimator.warm_start, "warm_start")
    check_non_negative(estimator.tol, "tol")
    early = estimator.early_stopping
    if not (isinstance(early, str) and early == "auto"):
        early = _flag(early, "early_stopping", "True, False or 'auto'")
    return early, check_int(estimator.n_iter_no_change, "n_iter_no_change", 1, 2**31)


def _verbosity(value: Any) -> int:
    return int(value) if isinstance(value, (bool, np.bool_)) else check_int(value, "verbose", 0, 2**31)


def _fraction(value: Any) -> float:
    if not (_is_real(value) and 0 <= value < 1):
        raise ValueError(f"validation_fraction must be in [0, 1); got {value!r}")
    return float(value)


def _categories(value: Any) -> int | None:
    return None if value is None else check_int(value, "max_categories", 1, 2**31)


def _alpha(value: Any) -> float:
    if not (_is_real(value) and 0 <= value < np.inf):
        raise ValueError(f"alpha must be a finite number that is not negative; got {value!r}")
    return float(value)


def _knots(value: Any) -> int | str:
    if not isinstance(value, str | int | np.integer):
        raise ValueError(f'n_knots must be "auto" or an int; got {value!r}')
    return value if isinstance(value, str) else int(value)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _flag(value: Any, name: str, kinds: str = "True or False") -> bool:
    if not isinstance(value, bool | int | np.bool_):
        raise ValueError(f"{name} must be {kinds}; got {value!r}")
    return bool(value)


def _recipe(estimator: Any) -> Recipe:
    if not (isinstance(estimator.effort, str) and estimator.effort in RECIPES):
        raise ValueError(f"effort must be one of {sorted(RECIPES)}; got {estimator.effort!r}")
    if estimator.shape is not None and estimator.eig_idx is not None:
        raise ValueError(f"eig_idx must be None with shape={estimator.shape!r}, which takes an end of the spectrum")
    wanted = max(listed(estimator.constraints), key=lambda own: (abs(own.end), abs(own.joint)), default=None)
    wanted = wanted if wanted is not None and (wanted.end or wanted.joint) else None
    if wanted is not None and estimator.eig_idx is not None:
        raise ValueError(f"eig_idx must be None with {wanted!r}, which takes an end of the spectrum")
    base = RECIPES[estimator.effort]
    if isinstance(estimator.shape, str) or any(own.end and not own.keys for own in listed(estimator.constraints)):
        base = base.shaped()  # what the shape may be is checked with the columns
    elif wanted is not None and wanted.end:
        base = base.bent()
    elif wanted is not None:
        base = base.joint()
    dim = base.dim if estimator.dim is None else check_int(estimator.dim, "dim", 1, MAX_DIM + 1)
    members = estimator.n_estimators
    members = base.members if members is None else check_int(members, "n_estimators", 1, MAX_MEMBERS + 1)
    return replace(base, dim=dim, members=members, pilot_dim=min(dim, base.pilot_dim))


def new_generator(random_state: Any) -> np.random.Generator:
    """The source of randomness of one fit."""
    return np.random.default_rng(new_seed(random_state))


def new_seed(random_state: Any) -> int:
    """What the randomness of one fit begins with."""
    try:
        source = check_random_state(random_state)
    except (TypeError, ValueError):
        kinds = "None, an int in [0, 2**32) or a numpy.random.RandomState"
        raise ValueError(f"random_state must be {kinds}; got {random_state!r}") from None
    return int(source.randint(2**31 - 1))


def parameters_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The constructor's parameters as they are now, whatever is done to them later."""
    return deepcopy(dict(estimator.get_params(deep=False)))


def check_unchanged(model: Model, terms: int, then: dict[str, Any], now: dict[str, Any], settings: FitSettings) -> None:
    """Refuse settings that a fitted model, of members of so many terms, cannot change where its training continues."""
    sizes = {"n_estimators": (settings.with_terms(terms).recipe.members, len(model.weights) // terms)}
    if settings.own_dim:
        sizes["dim"] = settings.recipe.dim, model.dim
    fixed = {name: (now[name], value) for name, value in then.items() if name not in _FREE}
    for name, (new, old) in (sizes | fixed).items():
        if not _same(new, old):
            raise ValueError(f"{name} must stay {old!r} where training continues; got {new!r}")


def _same(first: Any, second: Any) -> bool:
    """Whether two settings are equal: NaN is NaN, and an array of any library is its entries."""
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        return isinstance(first, Mapping) and isinstance(second, Mapping) and bool(first == second)
    a, b = _entries(first), _entries(second)
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=False)
    return a.shape == b.shape and all(x == y or (x != x and y != y) for x, y in pairs)


def _entries(value: Any) -> NDArray[Any]:
    """A setting as an array; groups of different lengths are its entries."""
    try:
        return np.asarray(value)
    except ValueError:
        groups = np.empty(len(value), object)
        groups[:] = [list(group) if isinstance(group, np.ndarray) else group for group in value]
        return groups


Class = TypeVar("Class", bound=type)


def parameter_texts(estimator: type) -> dict[str, tuple[str, str]]:
    """What the docstring of a class says of each parameter: its type, and what it does."""
    found = _SECTION.search(inspect.cleandoc(estimator.__doc__ or "") + "\n")
    entries = _ENTRY.findall(found[1]) if found else []
    texts = ((names, kind, inspect.cleandoc(text)) for names, kind, text in entries)
    return {name: (kind, text) for names, kind, text in texts for name in names.split(", ")}


def with_parameters_of(source: type, without: Iterable[str] = ()) -> Callable[[Class], Class]:
    """Add the parameters of ``source`` to the section "Parameters" of a class, after its own."""
    shared = {name: text for name, text in parameter_texts(source).items() if name not in without}

    def decorate(estimator: Class) -> Class:
        if estimator.__doc__:  # python -OO removes it
            estimator.__doc__ = _extended(inspect.cleandoc(estimator.__doc__), shared)
        return estimator

    return decorate


def _extended(text: str, shared: dict[str, tuple[str, str]]) -> str:
    """A docstring whose section "Parameters", perhaps a new one before the examples, ends with the shared entries."""
    if not (found := _SECTION.search(text + "\n")):
        text = text.replace("Examples\n--------\n", "Parameters\n----------\n\nExamples\n--------\n", 1)
        found = _SECTION.search(text + "\n")
    if found is None:
        return text
    entries = "\n".join(filter(None, [found[1].strip("\n"), *map(_entry, shared, shared.values())]))
    return f"{text[: found.start(1)]}{entries}\n\n{text[found.end(1) :]}"


def _entry(name: str, texts: tuple[str, str]) -> str:
    kind, text = texts
    lines = text.splitlines()
    return "\n".join([f"{name} : {kind}", *(f"    {line}" for line in lines)])

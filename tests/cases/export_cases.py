"""Exports against the model they come from: disguised models, rows of every sort, and how far two answers are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from lambdak.explain.rows import RowWork, local_slopes
from lambdak.losses import Predicts
from lambdak.model.readout import readouts
from lambdak.table.category_levels import OTHER, natural
from lambdak.table.read import read_table

# Names of columns and levels that end strings, comments, scripts and queries, or mean something to a language.
HOSTILE = (
    '"; DROP TABLE t; --', "it's", "*/", "/* x", "??/", "a\nb", "tab\there", "back\\slash", "\x01f", "é", "日本", "",
    " ", "__proto__", "constructor", "toString", "null", "NaN", "1", "1.5", "true", "%s %n", "${x}", "`", "</script>",
    "\u2028", "😀", "int", "while", "select", "A", "a", "a b", "a_b", "9lives", "x\x7f", "#define", "\\u0041", "--",
    "{{a}}", "$1", "@x", "[b]", "offset", "out", "row", "x" * 300,
)  # fmt: skip
NUMBERS = (-3, 0, 1, 1.5, 7, 12.25, 1e-300, -1e300, 2**53, 0.1)
UNSEEN = {str: ("never seen", "northern", "\u00fc"), float: (-77.25, 3.5, 4e9)}


@dataclass(frozen=True)
class Answers:
    """What a target, or the model itself, says of some rows.

    ``raw`` (rows, outputs) and ``results`` (rows, results): a mean, quantiles or probabilities of classes.
    ``influence`` (rows, columns) is None where a target has no explanations.
    """

    raw: np.ndarray
    results: np.ndarray
    influence: np.ndarray | None = None


Scorer = Callable[[pd.DataFrame, "np.ndarray | None"], Answers]  # a target that has read its artefact: rows and offset


# ---- models ------------------------------------------------------------------------------------------------------


def disguised(rng, model):
    """The same with hostile names of columns, with levels of all types, and sometimes numbers of extreme sizes."""
    columns = [
        replace(column, clamp=False) if rng.random() < 0.2 and column.is_number else column
        for column in model.encoder.columns
    ]
    names = rng.choice(len(HOSTILE), len(columns), replace=False) if len(columns) <= len(HOSTILE) else None
    new = [_with_levels(rng, each) if hasattr(each, "levels") else _with_units(rng, each) for each in columns]
    if names is not None and rng.random() < 0.7:
        new = [replace(each, name=HOSTILE[i]) for each, i in zip(new, names, strict=True)]
    model = model.replace(encoder=replace(model.encoder, columns=tuple(new), from_names=True))
    return _with_size(rng, model) if rng.random() < 0.3 else model


def _with_levels(rng, column):
    count = sum(level is not None and level is not OTHER for level in column.levels)
    special = column.levels[count:]
    pools = [(False, True)] if count <= 2 else []
    pool = [*pools, NUMBERS, HOSTILE, (*NUMBERS[:5], *HOSTILE)][int(rng.integers(3 + len(pools)))]
    if count > len(pool):
        return column
    chosen = [pool[i] for i in rng.choice(len(pool), count, replace=False)]
    return replace(column, levels=(*sorted(chosen, key=natural), *special))


def _with_units(rng, column):
    """The numbers of a column in other units, up to the ends of float64."""
    unit = 10.0 ** rng.integers(-120, 120) if rng.random() < 0.2 else 1.0
    if column.kind == "curve":
        return replace(column, knots=column.knots * unit, median=column.median * unit)
    own = {name: getattr(column, name) * unit for name in ("center", "scale", "low", "high", "median")}
    return replace(column, **own)


def _with_size(rng, model):
    """Matrices of another size, and a scale that undoes it."""
    size = 2.0 ** int(rng.integers(-400, 400))
    return model.replace(coef=model.coef * size, scale=model.scale / size)


# ---- rows --------------------------------------------------------------------------------------------------------


def random_rows(rng, model, rows):
    """A table: numbers inside, at knots, beside them and outside; levels, unseen ones; missing cells."""
    return pd.DataFrame(
        {column.name: pd.Series(_cells(rng, column, rows), dtype=_dtype(column)) for column in model.encoder.columns}
    )


def _dtype(column):
    return np.float64 if column.is_number else object


def _cells(rng, column, rows):
    return [_number(rng, column) if column.is_number else _level(rng, column) for _ in range(rows)]


def _number(rng, column):
    low, high, nodes = column.low, column.high, column.nodes()
    node = float(rng.choice(nodes))
    match rng.integers(8):
        case 0:
            return np.nan
        case 1:
            return node
        case 2:
            return float(np.nextafter(node, rng.choice([-np.inf, np.inf])))
        case 3:
            return float(low - (high - low) * 10.0 ** rng.uniform(-3, 3))
        case 4:
            return float(high + (high - low) * 10.0 ** rng.uniform(-3, 3))
        case _:
            return float(rng.uniform(low, high))


def _level(rng, column):
    own = [level for level in column.levels if level is not None and level is not OTHER]
    if rng.random() < 0.15:
        return None
    if rng.random() < 0.2 or not own:
        kinds = {str if isinstance(level, str) else float for level in own} or {str}
        return rng.choice(np.array(UNSEEN[sorted(kinds, key=str)[rng.integers(len(kinds))]], object))
    return own[rng.integers(len(own))]


def takes_offset(model):
    return model.loss.predicts is Predicts.NUMBERS


def offsets_of(rng, model, rows):
    """Offsets for models that take them, half of the time."""
    if not takes_offset(model) or rng.random() < 0.5:
        return None
    return rng.normal(size=rows) * (1.0 if model.loss.link.name != "identity" else abs(model.start[0]))


# ---- how far apart -----------------------------------------------------------------------------------------------


def answers(model, X, offset=None):
    """What the model itself says."""
    raw = model.raw(X, offset).reshape(len(X), -1)
    return Answers(raw, model.predict(X, offset).reshape(len(X), -1), slopes_of(model, X).influence)


@dataclass(frozen=True)
class Explained:
    """Influences as in ``explain_local(X).influence``, without the attributions, which take far longer."""

    chosen: np.ndarray  # (rows,): the output that is explained
    gap: np.ndarray
    repeated: np.ndarray
    influence: np.ndarray


def slopes_of(model, X):
    """The slopes of rows."""
    work = RowWork.read(model, read_table(X), None, None)
    found = Explained(work.chosen, np.empty(len(X)), np.empty(len(X), bool), np.empty((len(X), X.shape[1])))
    for i in np.unique(work.chosen):
        rows = np.flatnonzero(work.chosen == i)
        own, output = work.take(rows), work.outputs[i]
        here = local_slopes(output, output.packed(own.design), own.slopes, own.left_slopes)
        found.gap[rows], found.repeated[rows], found.influence[rows] = here.gap, here.repeated, here.influence
    return found


@dataclass(frozen=True)
class Errors:
    """The largest errors of a target, each relative to what rounding is proportional to; see :func:`errors`."""

    raw: float
    results: float
    influence: float = 0.0


def errors(model, X, offset, found, explain=False):
    """How far the answers ``found`` are from the model's own.

    raw: relative to |start| + |offset| + scale Σ_m w_m Σ_s |weight_s| ‖C_s‖_F, the size of what is summed up.
    results: of an identity link the same. Else relative to the result and to that size, but at least 1; of ordered
    classes, whose probabilities are differences, only to the size.
    influence: relative to scale Σ_m w_m Σ_s |slope_s| ‖C_s‖_F, and to size over gap, by which an eigenvector turns.
    """
    wanted, size = answers(model, X, offset), sizes(model, X, offset)
    assert found.raw.shape == wanted.raw.shape
    assert found.results.shape == wanted.results.shape
    raw = np.abs(found.raw - wanted.raw) / size
    if model.loss.link.name == "identity":
        results = np.abs(found.results - wanted.results) / size
    else:
        unit = 1.0 if model.loss.predicts is Predicts.ORDERED_CLASSES else np.abs(wanted.results) + 1e-290
        results = np.abs(found.results - wanted.results) / (unit * np.maximum(size.max(axis=1, keepdims=True), 1.0))
    turned = influence_error(model, X, found.influence) if explain else 0.0
    return Errors(_largest(raw), _largest(results), turned)


def sizes(model, X, offset=None):
    """What a raw score is the sum of, in absolute values, (rows, outputs)."""
    design = model.encoder.transform(X, np.float64)
    size = np.stack([_size(output, design) + output.constant_size @ output.weights * output.scale + abs(output.start)
                     for output in readouts(model)], axis=1)  # fmt: skip
    return size + (0.0 if offset is None else np.abs(offset)[:, None]) + np.finfo(float).tiny


def _size(output, design):
    parts = np.tensordot(output.weights, np.linalg.norm(output.coef, axis=2), 1)  # (P,)
    return output.scale * (np.abs(design.weights) * parts[design.ids]).sum(axis=1)


def influence_error(model, X, influence):
    """The largest error of explanations; infinite if one is missing where the eigenvalue is not repeated."""
    here, slopes, size = slopes_of(model, X), model.encoder.slopes(X), sizes(model, X)
    own = size[np.arange(len(X)), here.chosen]
    differ = (np.isnan(influence) != np.isnan(here.influence)).any(axis=1)
    close = here.gap / own < 1e-7  # where rounding may decide whether an eigenvalue is repeated
    if (differ & ~close).any():
        return np.inf
    worst = 0.0
    for i, output in enumerate(readouts(model)):
        rows = np.flatnonzero((here.chosen == i) & ~here.repeated & ~differ)
        unit = _size(output, slopes.take(rows)) * (1 + own[rows] / here.gap[rows]) + np.finfo(float).tiny
        worst = max(worst, _largest(np.abs(influence[rows] - here.influence[rows]) / unit[:, None]))
    return worst


def _largest(values):
    return float(np.where(np.isnan(values), np.inf, values).max(initial=0.0))

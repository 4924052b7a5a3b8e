"""The distribution of rows of a table: quantiles at any level, levels of numbers, intervals, samples."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_int, check_numbers
from lambdak._types import Float64Array, FloatArray
from lambdak.model.calibration import MOST_GROUPS, Calibration, counted, tails_of
from lambdak.model.model import Model
from lambdak.model.promises import Promises
from lambdak.model.readout import slots_of
from lambdak.shapes import OutputRange
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder

Side = Literal["both", "lower", "upper"]


def check_levels(levels: ArrayLike) -> Float64Array:
    """Levels as numbers in [0, 1], (n,)."""
    found = check_numbers(np.atleast_1d(np.asarray(levels)), "levels")
    if found.ndim != 1 or not found.size or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"levels must be one number in [0, 1] or a list of them, such as [0.1, 0.9]; got {levels!r}")
    return found


def quantiles_at(model: Model, X: Any, levels: ArrayLike, threads: int = 0) -> Float64Array:
    """Quantiles of rows, (rows, n), at any levels (n,)."""
    check_levels(levels)
    return at_levels(model, quantiles_of(model, X, threads), levels)


def at_levels(model: Model, quantiles: FloatArray, levels: ArrayLike) -> Float64Array:
    """Quantiles (rows, n) at any levels (n,) from the fitted ones of rows."""
    wanted = check_levels(levels)
    _check_tails(model, float(wanted.min()), float(wanted.max()))
    return model.level_curve.at(np.asarray(quantiles, np.float64), wanted)


def quantiles_of(model: Model, X: Any, threads: int = 0) -> Float64Array:
    """The fitted quantiles of rows, (rows, levels)."""
    return np.asarray(model.predict(X, None, threads), np.float64)


def levels_of(model: Model, X: Any, y: ArrayLike, threads: int = 0) -> Float64Array:
    """F(y): of a number or of one for each row (rows,), of several numbers (1, n) or (rows, n) for each row."""
    quantiles, numbers = quantiles_of(model, X, threads), check_numbers(np.asarray(y), "y")
    rows = len(quantiles)
    if numbers.ndim > 2 or (numbers.ndim and numbers.shape[0] not in (1, rows)) or np.isnan(numbers).any():
        raise ValueError(
            f"y must be a number, one for each of the {rows} rows, or several of shape (1, n) or ({rows}, n), none "
            f"missing; got shape {numbers.shape}"
        )
    curve = model.level_curve
    if numbers.ndim < 2:
        return curve.level_of(quantiles, np.broadcast_to(numbers, rows))
    several = np.broadcast_to(numbers, (rows, numbers.shape[1]))
    return np.stack([curve.level_of(quantiles, own) for own in several.T], axis=1)


def interval_of(model: Model, X: Any, coverage: float, side: str = "both", threads: int = 0) -> Float64Array:
    """Lower and upper ends (rows, 2) that cover a share of the targets; the other end of one side is infinite."""
    if not (isinstance(coverage, int | float | np.floating) and 0 < coverage < 1):
        raise ValueError(f"coverage must be a number in (0, 1), such as 0.9; got {coverage!r}")
    if side not in ("both", "lower", "upper"):
        raise ValueError(f"side must be 'both', 'lower' or 'upper'; got {side!r}")
    calibration = known_calibration(model)
    if side == "both":
        levels = calibration.interval(float(coverage))
    else:
        end = calibration.end(float(coverage), upper=side == "upper")
        ends = (np.zeros_like(end), end) if side == "upper" else (end, np.ones_like(end))
        levels = np.stack(ends, axis=1)
    own = calibration.of_rows(levels, group_codes(model, X, threads))
    return model.level_curve.at(quantiles_of(model, X, threads), own)


def known_calibration(model: Model) -> Calibration:
    """The calibration of a model, if there were rows to count on."""
    calibration = model.calibration
    if calibration is None or not calibration.counted:
        raise ValueError(
            "coverage needs rows that members did not see, which this model does not know (fewer than 40 rows, "
            "validation_fraction=0, training that continued, or a file of an earlier version): call calibrate(X, y) "
            "with rows that the fit did not see, or predict_quantiles(X, levels=...), which promises no coverage"
        )
    return calibration


def calibrated(
    model: Model, X: Any, y: Float64Array, weight: Float64Array | None, column: int | None, source: str
) -> Model:
    """The model with tails and levels counted on rows that no member was trained on, or groups of them."""
    quantiles = quantiles_of(model, X)
    tails = tails_of(model.outputs.quantile_levels, quantiles, y, weight)
    model = model.replace(calibration=tails)
    codes = None if column is None else codes_of(model, X, column)
    found = counted(tails, model.level_curve, quantiles, y, weight, codes, column, source)
    return model.replace(calibration=found)


def group_codes(model: Model, X: Any, threads: int = 0) -> NDArray[np.intp] | None:
    """The level of each row in the category whose levels were calibrated apart; None without one."""
    calibration = model.calibration
    if calibration is None or calibration.column is None:
        return None
    return codes_of(model, X, calibration.column, threads)


def codes_of(model: Model, X: Any, column: int, threads: int = 0) -> NDArray[np.intp]:
    """The level of each row in a category, by its place; −1 for an unseen one."""
    design, own = model.encoder.transform(X, np.float64, threads), model.encoder.columns[column]
    slot = slots_of(model.encoder.columns)[column][0]
    return np.where(design.weights[:, slot] == 0, -1, design.ids[:, slot] - own.start).astype(np.intp)


def group_column(key: Any, encoder: TableEncoder, promises: Promises, name: str = "calibrate_by") -> int:
    """The position of the column that is named; a group of its own would break what is promised of it."""
    names = encoder.feature_names
    i = names.index(key) if key in names else key
    if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < len(names):
        raise ValueError(f"{name} must be a column of {list(names)}, or its position; got {key!r}")
    column: Column = encoder.columns[i]
    if column.is_number or column.width > MOST_GROUPS:
        what = "a column of numbers" if column.is_number else f"a category of {column.width:,} levels"
        raise ValueError(
            f"{name} must name a category of at most {MOST_GROUPS} levels; {column.name!r} is {what}: cut it "
            "into bands, as text, in a column of its own"
        )
    wanted = [own for own in promises.about(int(i), encoder.columns) if not isinstance(own, OutputRange)]
    if wanted or promises.interactions is not None:
        about = wanted[0] if wanted else promises.interactions
        raise ValueError(
            f"{name} must name a column of which nothing is promised: ends of intervals that depend on "
            f"{column.name!r} in another way than the model does would break {about!r}"
        )
    return int(i)


def drawn(model: Model, X: Any, n: int, rng: np.random.Generator, threads: int = 0) -> Float64Array:
    """Random numbers (rows, n) from the distribution of each row."""
    quantiles = quantiles_of(model, X, threads)
    _check_tails(model, 0.0, 1.0)
    levels = rng.random((len(quantiles), check_int(n, "n", 1, 1 << 31)))
    return model.level_curve.at(quantiles, np.maximum(levels, np.finfo(np.float64).tiny))


def _check_tails(model: Model, low: float, high: float) -> None:
    fitted = model.outputs.quantile_levels
    if model.calibration is None and (low < fitted[0] or high > fitted[-1]):
        raise ValueError(
            f"levels must be in [{fitted[0]:g}, {fitted[-1]:g}], as this file is of an earlier version, which knew no "
            "tails: fit again, or call calibrate(X, y)"
        )

"""One row at a time, as a service gets them: from a dict or a tuple to a prediction, by one call of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from operator import itemgetter
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._types import FloatArray
from lambdak.eigen.engine import RowSolver
from lambdak.eigen.packing import packed_size
from lambdak.eigen.runtime import native
from lambdak.losses.contract import Predicts
from lambdak.model.distribution import at_levels
from lambdak.model.model import Model
from lambdak.model.rows import row_offset
from lambdak.table.cells import LARGEST
from lambdak.table.matching import check_width
from lambdak.table.read import Table, named_array, read_table
from lambdak.table.rows import LARGEST_NUMBER

Row: TypeAlias = Mapping[str, Any] | Sequence[Any] | NDArray[Any]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Predictor:
    """A fitted model for single rows: what ``predict`` says of a table with that row, bit for bit.

    A row is a mapping from names of columns to cells, of which keys that the model does not know are ignored, or a
    tuple or list of cells in the order of the training columns. Cells are plain Python or NumPy numbers, strings and
    booleans; None and NaN are missing. It never changes, so any number of threads may use one, and it can be pickled.

    Examples
    --------
    >>> from lambdak import SpectralRegressor
    >>> X, y = [[float(i), "ab"[i % 2]] for i in range(60)], [float(i % 7) for i in range(60)]
    >>> model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, y)
    >>> predictor = model.predictor()
    >>> predictor((3.0, "a")) == predictor({"x0": 3.0, "x1": "a"}) == float(model.predict([[3.0, "a"]])[0])
    True
    """

    model: Model
    _solve: RowSolver | None = field(init=False)
    _of_names: Callable[[Any], tuple[Any, ...]] = field(init=False)
    _weights: tuple[float, ...] = field(init=False)
    _start: tuple[float, ...] = field(init=False)
    _labels: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        encoder = replace(self.model.encoder, categorical_features=None)  # it may be of any library, and is of no use
        encoder = encoder if encoder.from_names else encoder.renamed(encoder.feature_names)
        model = self.model.replace(encoder=encoder)
        names, classes = encoder.feature_names, model.classes
        made = {
            "model": model,
            "_solve": _row_solver(model),
            "_of_names": itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],),
            "_weights": tuple(model.weights.tolist()),
            "_start": tuple(model.start.tolist()),
            "_labels": () if classes is None else tuple(classes.tolist()),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[Predictor], tuple[Model]]:
        return Predictor, (self.model,)  # all else follows from it

    def __repr__(self) -> str:
        return f"Predictor({self.model.estimator}, {self.model.encoder.n_features} columns)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of training; x0, x1, … if they had none."""
        return self.model.encoder.feature_names

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of a classifier, in their order."""
        return self._labels

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """The levels of the quantiles, if the model estimates several."""
        return self.model.outputs.quantile_levels

    def __call__(self, row: Row, offset: float | None = None, exposure: float | None = None) -> Any:
        """What the model predicts of one row; see :meth:`predict`."""
        return self._answers(self._raw(row, offset, exposure))[0]

    def predict(self, row: Row, offset: float | None = None, exposure: float | None = None) -> Any:
        """The mean as a float, the middle quantile, or the label of the class, as ``predict`` of the estimator has it.

        ``offset`` is added to the raw score, for an estimator that was fitted with offsets; of an ``exposure`` its
        logarithm is.
        """
        return self._answers(self._raw(row, offset, exposure))[0]

    def predict_proba(self, row: Row, offset: float | None = None) -> dict[Any, float]:
        """The probability of each class, by its label."""
        if not self._labels:
            raise AttributeError(f"predict_proba needs a classifier; the model is a {self.model.estimator}")
        shares = self.model.loss.predict(self._raw(row, offset))[0].tolist()
        return dict(zip(self._labels, shares, strict=True))

    def predict_quantiles(self, row: Row, levels: ArrayLike | None = None) -> tuple[float, ...]:
        """The quantiles, in ascending order of the fitted levels, or at any levels in [0, 1]."""
        if not self.quantile_levels:
            raise AttributeError(f"predict_quantiles needs quantiles; the model is a {self.model.estimator}")
        quantiles = self.model.loss.predict(self._raw(row))
        return tuple((quantiles if levels is None else at_levels(self.model, quantiles, levels))[0].tolist())

    def raw(self, row: Row, offset: float | None = None, exposure: float | None = None) -> float | tuple[float, ...]:
        """The raw score, before the link: a float, or a tuple where there are several outputs."""
        scores = self._raw(row, offset, exposure)[0].tolist()
        return scores if self.model.outputs.single else tuple(scores)

    def many(
        self, rows: Iterable[Row], offset: ArrayLike | None = None, exposure: ArrayLike | None = None
    ) -> list[Any]:
        """What :meth:`predict` says of each of several rows; ``offset`` or ``exposure`` is one number, or one per row.

        Errors name the row, counted from zero. From about a thousand rows on ``predict`` of the estimator is faster.
        """
        given = list(rows)
        if not given:
            return []
        offsets = row_offset(self.model.loss, offset, exposure, len(given))
        scores = np.array([self._numbered(row, i if len(given) > 1 else None) for i, row in enumerate(given)])
        if offsets is not None:
            scores = scores + offsets[:, None]
        return self._answers(scores[:, 0] if self.model.outputs.single else scores)

    # ---- from a row to raw scores ------------------------------------------------------------------------------

    def _raw(self, row: Row, offset: float | None = None, exposure: float | None = None) -> FloatArray:
        """Raw scores (1,) or (1, outputs)."""
        scores = self._row_scores(row)
        if offset is not None or exposure is not None:
            added = self._added(offset, exposure)
            scores = [score + added for score in scores]
        return np.array(scores if self.model.outputs.single else [scores])

    def _numbered(self, row: Row, number: int | None) -> list[float]:
        """The scores of one of several rows, of which errors say the number."""
        try:
            return self._row_scores(row, number or 0)
        except (TypeError, ValueError) as error:
            if number is None or f" in row {number}" in str(error):
                raise
            raise type(error)(f"row {number}: {error}") from None

    def _row_scores(self, row: Row, number: int = 0) -> list[float]:
        """Raw scores (outputs,)."""
        values = self._eigenvalues(row)
        scores: list[float] = self._scores(values) if values else []
        if scores and all(map(isfinite, scores)):
            return scores
        # Some cell needs a closer look, or is wrong or too far away: a table of this row alone, for others would decide
        return list(self.model.raw(self._table(row, number)).reshape(-1).tolist())

    def _eigenvalues(self, row: Row) -> list[float] | None:
        """Eigenvalues (members, outputs), one after the other; None where only a table tells."""
        if self._solve is None:
            return None
        kind = type(row)
        if kind is dict:
            try:
                return self._solve(self._of_names(row), True)
            except KeyError:
                return None
        return self._solve(row, False) if kind in _PLAIN_ROWS and len(row) == len(self.columns) else None  # type: ignore[arg-type]

    def _scores(self, values: list[float]) -> list[float]:
        """Raw scores, in the order of summation of the model: members one by one."""
        outputs = len(self._start)
        means = [self._weights[0] * value for value in values[:outputs]]
        for member, weight in enumerate(self._weights[1:], 1):
            for i, value in enumerate(values[member * outputs : (member + 1) * outputs]):
                means[i] += weight * value
        scale = self.model.scale
        return [start + scale * mean for start, mean in zip(self._start, means, strict=True)]

    def _table(self, row: Row, number: int) -> Table:
        """A row as a table of objects, with names if it is a mapping."""
        cells = np.empty((1, len(self.columns)), object)
        for j, cell in enumerate(self._cells(row)):  # one by one: a cell may be a list, which is refused later
            cells[0, j] = cell
        table = named_array(cells, self.columns) if isinstance(row, Mapping) else read_table(cells)
        return replace(table, first_row=number)

    def _cells(self, row: Row) -> Sequence[Any]:
        """The cells of a row in the order of the columns."""
        if isinstance(row, Mapping):
            if not all(name in row for name in self.columns):
                given = [name for name in row if isinstance(name, str)]
                self.model.encoder.positions(named_array(np.empty((0, len(given)), object), given))  # says what lacks
            return [row[name] for name in self.columns]
        if not isinstance(row, tuple | list) and not (isinstance(row, np.ndarray) and row.ndim == 1):
            raise TypeError(
                "a row must be a dict from names of columns to cells, or a tuple or list of cells in the order of the "
                f"training columns; got {type(row).__name__}"
            )
        check_width(len(row), len(self.columns))
        return tuple(row)

    # ---- from raw scores to answers ----------------------------------------------------------------------------

    def _answers(self, raw: FloatArray) -> list[Any]:
        """Predictions from raw scores (rows,) or (rows, outputs)."""
        loss = self.model.loss
        if loss.predicts is Predicts.NUMBERS:
            return list(loss.predict(raw).tolist())
        if loss.predicts is Predicts.QUANTILES:
            return list(loss.predict(raw)[:, raw.shape[1] // 2].tolist())
        return [self._labels[code] for code in loss.classify(raw).tolist()]

    def _added(self, offset: float | None, exposure: float | None) -> float:
        """What an offset or an exposure adds to the raw scores of a row."""
        loss = self.model.loss
        if exposure is None and type(offset) is float and abs(offset) <= LARGEST_NUMBER and not loss.no_offset:
            return offset  # the checks take longer than a prediction
        given = None if offset is None else [offset]
        return float(row_offset(loss, given, None if exposure is None else [exposure], 1)[0])


_PLAIN_ROWS = (tuple, list)


def _row_solver(model: Model) -> RowSolver | None:
    """The kernel's way from cells to eigenvalues; None without a kernel."""
    kernel = native()
    if kernel is None:
        return None
    columns, outputs = model.encoder.columns, model.outputs
    levels = [model.encoder.n_design + i for i in range(len(outputs.levels))]
    return kernel.one_row(
        [column.curve for column in columns],
        tuple(column.cell_entries for column in columns),
        LARGEST,
        model.coef[..., : packed_size(model.dim)],
        model.dim,
        list(outputs.indices),
        levels,
    )

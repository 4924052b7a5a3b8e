from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import (
    AdamRule,
    AdamState,
    Basis,
    CellEntries,
    DescentRule,
    DesignBatch,
    DesignRows,
    EpochState,
    Gradient,
    Ids,
    Knots,
    LossHead,
    LossSums,
    Matrices,
    Numbers,
    Pace,
    Pair,
    Rows,
    RowSolver,
    RowTargets,
    Solution,
    Together,
)

def solve(matrices: Matrices, index: Sequence[int], out: Solution, threads: int) -> None: ...
def solve_plain(
    packed: FloatArray, dim: int, index: int, value: FloatArray, vector: FloatArray | None, threads: int
) -> bool: ...
def outer(vector: FloatArray, grad_value: FloatArray, out: Gradient, threads: int) -> None: ...
def vjp(matrices: Matrices, pair: Pair, grads: Pair, near: float, out: Gradient, threads: int) -> None: ...
def forward(
    design: DesignRows, coef: FloatArray, dim: int, index: Sequence[int], out: Solution, threads: int
) -> None: ...
def backward(
    design: DesignRows, vector: FloatArray, grad_value: FloatArray, dim: int, grad: FloatArray, threads: int
) -> None: ...
def band_gradient(
    points: FloatArray, target: FloatArray, coef: FloatArray, dim: int, index: int, grad: FloatArray, threads: int
) -> None: ...
def multiply(
    left: FloatArray, which: Sequence[int], right: FloatArray, spans: Ids, out: FloatArray, threads: int
) -> None: ...
def adam(
    state: AdamState, rate: Sequence[float], keep: Sequence[float], rule: AdamRule, spared: int, threads: int
) -> None: ...
def epoch(
    design: DesignRows,
    target: RowTargets,
    head: LossHead,
    state: EpochState,
    basis: Basis,
    pace: Pace,
    threads: int,
) -> list[float]: ...
def shared_epoch(
    shards: Sequence[Rows],
    head: LossHead,
    state: EpochState,
    basis: Basis,
    pace: Pace,
    together: Together,
    threads: int,
) -> LossSums: ...
def descend(
    batch: DesignBatch,
    vector: FloatArray,
    grad_value: FloatArray,
    dim: int,
    table: FloatArray,
    rule: DescentRule,
    threads: int,
) -> None: ...
def pack(design: DesignBatch, fields: NDArray[np.int64], records: NDArray[np.uint8], threads: int) -> None: ...
def unpack(
    records: NDArray[np.uint8],
    order: NDArray[np.integer] | None,
    fields: NDArray[np.int64],
    out: DesignBatch,
    numbers: Numbers,
    threads: int,
) -> None: ...
def curve(
    x: NDArray[np.float64], knots: NDArray[np.float64], start: int, clamp: bool, out: DesignBatch, threads: int
) -> None: ...
def one_row(
    curves: Sequence[Knots | None],
    entries: tuple[CellEntries, ...],
    largest: float,
    coef: Float64Array,
    dim: int,
    index: Sequence[int],
    levels: Sequence[int],
) -> RowSolver: ...
def isa() -> str: ...
def use_isa(name: str) -> None: ...
def available_isas() -> list[str]: ...
def num_threads() -> int: ...
def set_num_threads(threads: int) -> None: ...

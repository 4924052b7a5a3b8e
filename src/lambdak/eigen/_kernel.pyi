from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray

def solve(
    matrix: FloatArray,
    off: FloatArray | None,
    dim: int,
    index: Sequence[int],
    value: FloatArray,
    vector: FloatArray | None,
) -> None: ...
def outer(vector: FloatArray, grad_value: FloatArray, grad: FloatArray, grad_off: FloatArray | None) -> None: ...
def vjp(
    matrix: FloatArray,
    off: FloatArray | None,
    dim: int,
    value: FloatArray,
    vector: FloatArray,
    grad_value: FloatArray,
    grad_vector: FloatArray,
    grad: FloatArray,
    grad_off: FloatArray | None,
) -> None: ...
def isa() -> str: ...
def use_isa(name: str) -> None: ...
def available_isas() -> list[str]: ...
def num_threads() -> int: ...
def set_num_threads(threads: int) -> None: ...
def forward(
    ids: NDArray[np.int32],
    weights: FloatArray,
    rows: NDArray[np.int32],
    coef: FloatArray,
    dim: int,
    index: Sequence[int],
    value: FloatArray,
    vector: FloatArray | None,
) -> None: ...
def backward(
    ids: NDArray[np.int32],
    weights: FloatArray,
    rows: NDArray[np.int32],
    vector: FloatArray,
    grad_value: FloatArray,
    dim: int,
    grad: FloatArray,
) -> None: ...
def curve(
    x: NDArray[np.float64],
    knots: NDArray[np.float64],
    start: int,
    clamp: bool,
    ids: NDArray[np.int32],
    weights: FloatArray,
) -> None: ...
def multiply(
    left: FloatArray, which: Sequence[int], right: FloatArray, spans: NDArray[np.int32], out: FloatArray
) -> None: ...
def adam(
    theta: FloatArray,
    grad: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rate: Sequence[float],
    keep: Sequence[float],
    beta1: float,
    beta2: float,
    correct: float,
    tiny: float,
    spared: int,
) -> None: ...

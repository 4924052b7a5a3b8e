from collections.abc import Sequence

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
def hardware_threads() -> int: ...

"""ONNX graphs written as arithmetic: values with operators, constants that are stored once, loops as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

_PREFIX = "lambdak/"  # of all names inside of a graph: those of inputs and outputs are the user's
_NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0}  # what a value can be combined with and stays as it is
_LOOKS_NEUTRAL = {0.0: 1e-44, 1.0: 1e-7}  # the distance at which single precision may not tell a number from it


def onnx_library() -> Any:
    """The library that writes ONNX."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs the library onnx: pip install 'lambdak[onnx]'") from error
    return onnx


@final
class Value:
    """A tensor of a graph; arithmetic with it adds nodes."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Value | float) -> Value:
        return self.graph("Add", self, other)

    def __sub__(self, other: Value | float) -> Value:
        return self.graph("Sub", self, other)

    def __mul__(self, other: Value | float) -> Value:
        return self.graph("Mul", self, other)

    def __truediv__(self, other: Value | float) -> Value:
        return self.graph("Div", self, other)

    def __neg__(self) -> Value:
        return self.graph("Neg", self)

    def __lt__(self, other: Value | float) -> Value:
        return self.graph("Less", self, other)

    def reshape(self, *shape: int) -> Value:
        """Tensor of these numbers in another shape, of which one entry may be −1."""
        return self.graph("Reshape", self, self.graph.whole(shape))

    def permute(self, *axes: int) -> Value:
        """The axes in another order."""
        return self.graph("Transpose", self, perm=axes)

    def take(self, index: ArrayLike | Value, axis: int = 0) -> Value:
        """Entries along an axis."""
        where = index if isinstance(index, Value) else self.graph.whole(index)
        return self.graph("Gather", self, where, axis=axis)

    def part(self, first: int, last: int, axes: Sequence[int] = (0,)) -> Value:
        """Entries first to last − 1 along some axes."""
        limits = [[first] * len(axes), [last] * len(axes), axes]
        return self.graph("Slice", self, *map(self.graph.whole, limits))

    def reduce(self, how: str, axis: int, keepdims: bool = True) -> Value:
        """Sum, Max, Min or SumSquare along an axis."""
        return self.graph(f"Reduce{how}", self, self.graph.whole([axis]), keepdims=int(keepdims))

    def cast(self, dtype: DTypeLike) -> Value:
        """Tensor of these numbers in another type."""
        return self.graph("Cast", self, to=self.graph.type_of(dtype))


@final
class Graph:
    """Nodes and constants, and those of the loops in it; ``graph("Add", a, b)`` adds a node.

    A constant that a loop's body reads is that of the whole graph.

    Parameters
    ----------
    dtype
        Of numbers: float64 or float32.
    names
        Those of the user's inputs, from which all others differ.
    """

    def __init__(self, dtype: np.dtype[np.floating], names: Sequence[str]) -> None:
        self.onnx = onnx_library()
        self.dtype = dtype
        self.domains = {""}
        self._prefix = _PREFIX
        while any(name.startswith(self._prefix) for name in names):
            self._prefix += "/"
        self._count = 0
        self._scopes: list[list[Any]] = [[]]
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self._single_doubles: dict[str, NDArray[np.float64]] = {}  # constants of one number, by name
        self._read: set[str] = set()  # names that nodes have as inputs

    def __call__(self, op: str, *inputs: Value | float, domain: str = "", **attributes: Any) -> Value:
        """The value that a node yields."""
        given = [each if isinstance(each, Value) else self.number(each) for each in inputs]
        if op in ("Add", "Mul") and given[0].name in self._single_doubles:
            given.reverse()
        if op in _NEUTRAL and self._looks_neutral(given[1], _NEUTRAL[op]):
            return self._without_neutral(op, given[0], self._single_doubles[given[1].name])
        return self.nodes(op, 1, *given, domain=domain, **attributes)[0]

    def _looks_neutral(self, value: Value, neutral: float) -> bool:
        """Whether a double is another number, but onnxruntime drops the node: it looks at it in single precision."""
        number = self._single_doubles.get(value.name)
        return number is not None and 0.0 < abs(number.item() - neutral) < _LOOKS_NEUTRAL[neutral]

    def _without_neutral(self, op: str, value: Value, number: NDArray[np.float64]) -> Value:
        """Value of a node that onnxruntime would drop, by operators that it keeps: powers of two are exact."""
        if _NEUTRAL[op] == 0.0:
            return self("Sum", value, self.number(number if op == "Add" else -number))
        return self(op, value, self.number(number / 2 if op == "Mul" else number * 2)) * 2.0

    def nodes(self, op: str, outputs: int, *inputs: Value | float, domain: str = "", **attributes: Any) -> list[Value]:
        """The values that a node with several outputs yields."""
        given = [each if isinstance(each, Value) else self.number(each) for each in inputs]
        made = [self._new() for _ in range(outputs)]
        names = [each.name for each in made]
        self.domains.add(domain)
        self._read.update(each.name for each in given)
        node = self.onnx.helper.make_node(op, [each.name for each in given], names, domain=domain, **attributes)
        self._scopes[-1].append(node)
        return made

    # ---- constants ---------------------------------------------------------------------------------------------

    def number(self, values: ArrayLike, dtype: DTypeLike | None = None) -> Value:
        """A constant of numbers, of the graph's type unless another is named."""
        return self._constant(np.asarray(values, self.dtype if dtype is None else dtype))

    def whole(self, values: ArrayLike | Sequence[int]) -> Value:
        """A constant of whole numbers."""
        return self._constant(np.asarray(values, np.int64))

    def doubles(self, values: ArrayLike) -> Value:
        """A constant of numbers that are not computed with."""
        return self._constant(np.asarray(values, np.float64))

    def flags(self, values: ArrayLike) -> Value:
        """A constant of booleans."""
        return self._constant(np.asarray(values, np.bool_))

    def texts(self, values: Sequence[str]) -> Value:
        """A constant of text."""
        return self._constant(np.array(values, object))

    def _constant(self, array: NDArray[Any]) -> Value:
        content = repr(array.tolist()).encode("utf-8", "surrogatepass") if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._constants:
            self._constants[key] = self.onnx.numpy_helper.from_array(np.array(array), self._new().name)
        name = self._constants[key].name
        if array.dtype == np.float64 and array.size == 1:
            self._single_doubles[name] = array
        return Value(self, name)

    @contextmanager
    def computing_in(self, dtype: type[np.floating]) -> Iterator[None]:
        """Numbers of nodes that are added meanwhile are of another type."""
        usual, self.dtype = self.dtype, np.dtype(dtype)
        try:
            yield
        finally:
            self.dtype = usual

    # ---- columns and shapes ------------------------------------------------------------------------------------

    def join(self, values: Sequence[Value], axis: int = 0) -> Value:
        """Values one after the other along an axis."""
        return values[0] if len(values) == 1 else self("Concat", *values, axis=axis)

    def where(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """``yes`` where a condition is true, else ``no``."""
        return self("Where", condition, yes, no)

    def count(self, value: Value, axis: int = 0) -> Value:
        """The number of entries along an axis, (1,)."""
        return self("Shape", value, start=axis, end=axis + 1)

    def type_of(self, dtype: DTypeLike) -> int:
        """How ONNX calls a type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    # ---- loops -------------------------------------------------------------------------------------------------

    def loop(
        self,
        times: Value,
        states: Sequence[Value],
        body: Callable[..., tuple[Sequence[Value], Sequence[Value]]],
    ) -> list[Value]:
        """The last states, and the results of all rounds as (rounds, ...).

        ``body(round, *states)`` yields the next states and its results. States are numbers.
        """
        step, goes_on, *inner = (self._new() for _ in range(2 + len(states)))
        self._scopes.append([])
        following, results = body(step, *inner)
        ends = [self("Identity", each) for each in (goes_on, *following, *results)]  # outputs belong to the body
        nodes = self._scopes.pop()
        given = [self._info(step, np.int64, []), self._info(goes_on, np.bool_, [])]
        given += [self._info(each, self.dtype) for each in inner]
        types: list[Any] = [np.bool_, *[self.dtype] * (len(ends) - 1)]
        found = [self._info(each, kind) for each, kind in zip(ends, types, strict=True)]
        inside = self.onnx.helper.make_graph(nodes, f"{self._prefix}body", given, found)
        return self.nodes("Loop", len(ends) - 1, times, self.flags(True), *states, body=inside)

    # ---- the whole ---------------------------------------------------------------------------------------------

    def given(self, name: str) -> Value:
        """An input of this name."""
        return Value(self, name)

    def named(self, value: Value, name: str) -> None:
        """Make a value an output of this name."""
        node = self.onnx.helper.make_node("Identity", [value.name], [name])
        self._scopes[-1].append(node)

    def finished(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The graph as ONNX stores it."""
        constants = [each for each in self._constants.values() if each.name in self._read]
        return self.onnx.helper.make_graph(self._scopes[0], name, list(inputs), list(outputs), constants)

    def _info(self, value: Value, dtype: DTypeLike, shape: Sequence[Any] | None = None) -> Any:
        return self.onnx.helper.make_tensor_value_info(value.name, self.type_of(dtype), shape)

    def _new(self) -> Value:
        self._count += 1
        return Value(self, f"{self._prefix}{self._count}")

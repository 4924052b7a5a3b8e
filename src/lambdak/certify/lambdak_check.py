#!/usr/bin/env python3
r"""Check, exactly and without lambdak, what a saved lambdak model promises: python lambdak_check.py MODEL [--json].

It needs Python 3.11 and nothing else. Everything is decided in integers and fractions, and there is no tolerance.

THE MODEL    raw score of output o = start[o] + scale Σ_m weights[m] λ_k(A_m(row)): the k-th eigenvalue of symmetric
matrices, each the sum of a constant and of one matrix for each column. Stored numbers are exactly what they are; packed
matrices list the lower triangle row by row, and entries off the diagonal are multiplied by c = 6369051672525773 / 2^53.
Numbers with knots κ_0 < κ_1 < … have a matrix C_j for each, and A(x) = (1 − t) C_j + t C_{j+1} between two of them;
linear ones have A(x) = (x − center) / scale C; categories have a matrix for each level, and an unseen level has that
of "other", or zero. Missing cells have a matrix of their own if there were any in training.
THE CLAIMS   M ⪰ 0 says that no eigenvalue of M is negative; adding such a matrix never lowers an eigenvalue.
  monotone   ±(C_{j+1} − C_j) ⪰ 0 for all knots, in all members (± C ⪰ 0 if linear); missing cells do not count
  convex     (C_{j+2} − C_{j+1}) (κ_{j+1} − κ_j) − (C_{j+1} − C_j) (κ_{j+2} − κ_{j+1}) ⪰ 0, k is the last eigenvalue,
             and columns continue straight beyond their ends (concave: minus this ⪰ 0, and k is the first)
  influence  scale Σ_m weights[m] ‖A_m(one) − A_m(other)‖₂ ≤ B for every two cells of a column
  quantiles  P_{l+1} − P_l ⪰ 0 for the matrices P_l of the quantile levels, and all start are equal
  cut-points they are eigenvalues of one matrix with rising numbers k, and all start are equal
They are about this exact function; what predict returns differs from it by rounding, which lambdak bounds.
The exit code is 0 if all that was requested is proven, 1 if something is not, and 2 if the file cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from array import array
from collections.abc import Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import cycle, pairwise
from operator import mul
from pathlib import Path
from types import SimpleNamespace as Record
from typing import Any

ROOT_HALF = 6369051672525773  # c in units of 2^-53
MOST_BITS = 20_000  # of numbers in an elimination: more would take minutes for one matrix
MOST_CELLS = 600  # of a column whose cells are all compared with one another
MOST_HEADER_BYTES, MOST_BYTES, MOST_SIZE = 1 << 24, 1 << 32, 1e24  # lambdak reads no more
LARGEST = sys.float_info.max / 4  # of numbers, so that their differences are finite
LABELLED = ("SoftmaxLog", "Ordinal", "BinaryLog")
SINGLE = ("SquaredError", "AbsoluteError", "Huber", "Quantile", "Poisson", "Gamma", "Tweedie", "BinaryLog")
KEYS = ("kind", "subject", "statement", "verdict", "requested", "how", "value")  # of a claim
OTHER = ("other",)  # the level of a category that stands for all pooled ones
Rows = list[list[int]]
Statements = Iterator[tuple[str, list[int], Fraction]]  # where, a packed matrix that must be ⪰ 0, and its unit


def semidefinite(rows: Rows) -> tuple[bool | None, Fraction]:
    """Whether the matrix with this lower triangle is ⪰ 0 (None: undecided), and its smallest pivot, about."""
    if (quick := factorised(rows)) is not None:
        return True, quick
    if len(rows) * max(entry.bit_length() for row in rows for entry in row) > MOST_BITS:
        return None, Fraction(0)
    before, least = 1, Fraction(rows[0][0])
    while rows:  # elimination in integers (Bareiss): no pivot may be negative, and a zero needs a row of zeros
        (pivot, *rest), rows = [row[0] for row in rows], [row[1:] for row in rows[1:]]
        least = min(least, Fraction(pivot, before))
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False, least
        if pivot:
            pairs = zip(rows, rest, strict=True)
            rows = [[(pivot * x - a * b) // before for x, b in zip(row, rest, strict=False)] for row, a in pairs]
            before = pivot
    return True, least


def factorised(rows: Rows) -> Fraction | None:
    """The smallest pivot, about, if integers with 2^shift M = L Lᵀ + E, E ⪰ 0, prove M ⪰ 0; None if they do not.

    Entries of E below its diagonal are remainders of divisions by L[j][j], 0 ≤ E[i][j] < L[j][j], and none on its
    diagonal is less than all others of its row together: no eigenvalue of E is negative (Gershgorin).
    """
    largest = max(row[-1] for row in rows)
    shift = max(0, 192 - largest.bit_length())
    reserve = len(rows) * (math.isqrt(max(0, largest) << shift) + 1)
    lower: Rows = []
    for row in rows:
        new: list[int] = []
        for entry, other in zip(row, lower, strict=False):
            new.append(((entry << shift) - sum(map(mul, new, other))) // other[-1])
        rest = (row[-1] << shift) - reserve - sum(map(mul, new, new))
        if rest <= 0:
            return None
        lower.append([*new, math.isqrt(rest)])
    return Fraction(min(row[-1] for row in lower) ** 2, 1 << shift)


def norm(rows: Rows, depth: int) -> tuple[int, int]:
    """Integers between which ‖D‖₂ lies, the largest size of an eigenvalue, if these are all rows of D.

    ‖D‖₂² = ‖D²‖₂ lies between Σλ² / Σλ and √Σλ² for the eigenvalues λ of D². To come closer, D² is treated like D, down
    to some depth, after rounding that moves no entry by more than 1.
    """
    rows = [[sum(map(mul, one, other)) for other in rows] for one in rows]
    squares, trace = sum(sum(map(mul, row, row)) for row in rows), sum(row[i] for i, row in enumerate(rows))
    low, high = squares // (trace or 1), math.isqrt(squares) + 1
    if depth and trace**2 - squares > trace**2 >> 50:
        shift = max(0, trace.bit_length() - 64)
        low, high = norm([[entry >> shift for entry in row] for row in rows], depth - 1)
        low, high = max(0, low - len(rows)) << shift, (high + len(rows)) << shift
    return math.isqrt(low), math.isqrt(high) + 1


def need(holds: bool, words: str) -> None:
    """Refuse a file for which something does not hold."""
    if not holds:
        raise ValueError(words)


def shown(value: Any, most: int = 60) -> str:
    """A value in print: fractions rounded up to six digits, text short and without what could change a terminal."""
    if isinstance(value, Fraction):
        value = Context(6, ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    value = {None: "missing", OTHER: "other"}.get(value, value)
    text = f"{value:.6g}" if isinstance(value, float | Decimal) else str(value)
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:most])


def number(value: Any, what: str, low: float = -LARGEST, high: float = LARGEST) -> Any:
    """A number in [low, high]: an int if these are ints, or else a float."""
    kinds = (int,) if type(low) is int else (int, float)
    need(type(value) in kinds and low <= value <= high, f"{what} must be a number from {low:g} to {high:g}")
    return kinds[-1](value)


def fields(pairs: list[Any]) -> dict[Any, Any]:
    """An object of the header, which must not have a field twice."""
    need(len(dict(pairs)) == len(pairs), "a field, a key or a name of a column occurs twice")
    return dict(pairs)


def decoded(value: Any) -> Any:
    """A value as lambdak stores it: plain, or an object whose only field says its type."""
    if not isinstance(value, dict):
        return [decoded(item) for item in value] if isinstance(value, list) else value
    ((tag, inner),) = value.items()
    inner = decoded(inner["values"] if tag == "array" else inner)
    return fields(inner) if tag == "dict" else float(inner) if tag == "float" else {"tuple": inner, "array": inner}[tag]


def read_column(value: dict[str, Any], start: int) -> Record:
    """A column: design columns [start, stop), nodes (knots, ends, or levels), cells (design column − start, factor)."""
    kind, what = value["kind"], f"column {shown(value['name'])}"
    column = Record(name=value["name"], kind=kind, start=start, missing=value.get("missing", False), unit=1)
    known = type(column.name) is str and type(column.missing) is bool and kind in ("curve", "linear", "category")
    need(known, f"{what} must be a curve, linear or a category, with a name, and missing true or false")
    if kind == "category":
        column.nodes = [OTHER if level == {"level": "other"} else level for level in value["levels"]]
        need(len(set(column.nodes)) == len(column.nodes) > 0, f"levels of {what} must differ")
        column.cells = [(i, 1) for i in range(len(column.nodes))] + [(0, 0)] * (OTHER not in column.nodes)
    else:
        nodes = value["knots"] if kind == "curve" else [value["low"], value["high"]]
        column.nodes = [number(node, f"knots of {what}") for node in nodes]
        rising = column.nodes == sorted({*column.nodes}) or (kind == "linear" and nodes[0] == nodes[1])
        need(rising and 0 < len(nodes) < 4096, f"knots of {what} must increase")
        number(value["median"], f"median of {what}", column.nodes[0], column.nodes[-1])
        column.cells = [(i, 1) for i in range(len(nodes) + column.missing)]
    if kind == "linear":
        column.center, scale = (Fraction(number(value[key], f"{key} of {what}")) for key in ("center", "scale"))
        weights = [*(Fraction(node) - column.center for node in column.nodes), scale]
        need(scale > 0 and max(map(abs, weights)) <= 10**12 * scale, f"scale of {what} must fit its range")
        low, high, one = (int(weight * math.lcm(*(w.denominator for w in weights))) for weight in weights)
        column.cells, column.unit = [(0, low), (0, high), (1, one)][: 2 + column.missing], Fraction(1, one)
    column.rising, column.stop = False, start + max(offset for offset, _ in column.cells) + 1
    return column


def per_column(requested: Any, places: dict[str, int], what: str, default: Any) -> list[Any]:
    """What was requested of each column: by name or position, or one entry for each."""
    if isinstance(requested, list):
        need(len(requested) == len(places), f"{what} must have {len(places)} entries, one per column")
        return requested
    found: dict[int, Any] = {}
    for key, value in ({} if requested is None else requested).items():
        at = places.get(key, key if type(key) is int and str(key) not in places else -1)
        need(0 <= at < len(places) and at not in found, f"{what} names an unknown column, or one twice: {shown(key)}")
        found[at] = value
    return [found.get(i, default) for i in range(len(places))]


class Model:
    """The model in the bytes of a file, and what is claimed about it."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little")
        need(8 + size <= len(data) and size <= MOST_HEADER_BYTES, "it is not a whole safetensors file")
        need(sys.byteorder == "little", "its numbers are read on little-endian machines only")
        outer = json.loads(data[8 : 8 + size].decode(), object_pairs_hook=fields)
        header = json.loads(outer["__metadata__"]["lambdak"], object_pairs_hook=fields)
        self.format, self.estimator = number(header["format"], "format", 1, 2), shown(header["estimator"])
        self.columns: list[Record] = []
        for value in header["columns"]:
            self.columns.append(read_column(value, self.columns[-1].stop if self.columns else 1))
        self.clamp, sparse = header["encoder"]["clamp"], header["encoder"]["from_sparse"]
        need(type(self.clamp) is type(sparse) is bool, "clamp and from_sparse must be true or false")
        zeros = all(c.kind == "linear" and c.center == 0 and c.nodes[0] <= 0 <= c.nodes[1] for c in self.columns)
        need(zeros or not sparse, "columns of a sparse table must be linear, with center 0 and 0 in their range")
        self._read_requests(header["parameters"])
        self._read_outputs(header["loss"], header["classes"])
        self.dim, self.members = number(header["dim"], "dim", 1, 128), number(header["members"], "members", 1, 64)
        self.indices = [number(index, "indices", 0, self.dim - 1) for index in header["indices"]]
        need(len(self.indices) == (self.outputs if self.loss == "Ordinal" else 1), "indices must fit the loss")
        self._read_tensors(header, outer, data[8 + size :])
        self.scale, reach = Fraction(number(header["scale"], "scale", 5e-324)), math.fsum(map(abs, self.coef))
        need(reach <= MOST_SIZE and reach * self.scale <= 1e290, "its matrices are too large to compute with")
        off = abs(sum(self.weights, Fraction(-1)))
        need(min(self.weights) > 0 and off <= Fraction(1e-9), "weights must be positive and sum to 1")

    def _read_requests(self, settings: dict[str, Any]) -> None:
        signs, caps, self.shape = (decoded(settings.get(key)) for key in ("monotonic_cst", "max_influence", "shape"))
        self.bend = {None: 0, "convex": 1, "concave": -1}[self.shape]
        places = fields([(column.name, i) for i, column in enumerate(self.columns)])
        if isinstance(signs, str) and signs in ("increasing", "decreasing"):
            signs = [(c.kind != "category") * (1 if signs == "increasing" else -1) for c in self.columns]
        caps = caps if isinstance(caps, dict | list | None) else [caps] * len(places)
        signs, caps = per_column(signs, places, "monotonic_cst", 0), per_column(caps, places, "max_influence", math.inf)
        for column, sign, cap in zip(self.columns, signs, caps, strict=True):
            what = f"{column.kind} column {shown(column.name)}"
            need(sign in ((0,) if column.kind == "category" else (-1, 0, 1)), f"monotonic_cst of {what}: {shown(sign)}")
            need(type(cap) in (int, float) and cap > 0, f"max_influence of {what} must be a positive number")
            column.sign, column.cap = int(sign), cap

    def _read_outputs(self, loss: dict[str, Any], classes: Any) -> None:
        self.loss, self.classes = loss["kind"], decoded(classes) or []
        self.levels = [number(q, "quantiles", 0.0, 1.0) for q in loss["quantiles"]] if self.loss == "Pinball" else []
        wanted = number(loss.get("n_classes", 2), "n_classes", 2, 1 << 20) if self.loss in LABELLED else 0
        several = {"Pinball": len(self.levels), "SoftmaxLog": wanted, "Ordinal": wanted - 1}
        self.outputs = {**several, **dict.fromkeys(SINGLE, 1)}[self.loss]
        self.pencils = wanted if self.loss == "SoftmaxLog" else 1  # matrices of each member, one for each class
        fits = self.levels == sorted({*self.levels}) and len(self.classes) == wanted and self.outputs > 0
        need(fits, "classes or quantiles do not fit the loss")

    def _read_tensors(self, header: dict[str, Any], outer: dict[str, Any], data: bytes) -> None:
        self.table = [[max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in range(self.dim)] for i in range(self.dim)]
        self.width, self.n_design = self.dim * (self.dim + 1) // 2, self.columns[-1].stop + len(self.levels)
        shapes = [(self.members * self.pencils, self.n_design, self.width), (self.outputs,), (self.members,)]
        rest = {name: value for name, value in header.items() if name != "sha256"}
        digest = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
        tensors, names = [], ("coef", "start", "weights")
        for name, shape, dtype in zip(names, shapes, (header["dtype"], "float64", "float64"), strict=True):
            code, letter = {"float32": ("F32", "f"), "float64": ("F64", "d")}[dtype]
            first, last = (number(at, f"offset of {name}", 0, len(data)) for at in outer[name]["data_offsets"])
            tensors.append(array(letter, data[first:last]))
            fits = outer[name]["dtype"] == code and tuple(outer[name]["shape"]) == shape
            fits = fits and len(tensors[-1]) == math.prod(shape) and all(map(math.isfinite, tensors[-1]))
            need(fits, f"tensor {name} must be finite {dtype} of shape {shape}")
            digest.update(f"{name}:{dtype}:{shape};".encode() + data[first:last])
        ends = [0, *(at for span in sorted(outer[name]["data_offsets"] for name in names) for at in span), len(data)]
        need(ends[::2] == ends[1::2], "its tensors overlap or leave gaps")
        need(header["sha256"] == digest.hexdigest(), "its checksum does not fit: it was changed after it was saved")
        self.coef, self.start, self.weights = tensors[0], *([Fraction(x) for x in own] for own in tensors[1:])

    def matrices(self, pencil: int, start: int, stop: int) -> tuple[Rows, Fraction]:
        """Those of some design columns: packed, in integers, and their unit."""
        first, last = ((pencil * self.n_design + end) * self.width for end in (start, stop))
        ratios = [x.as_integer_ratio() for x in self.coef[first:last]]
        common = max(below for _, below in ratios)  # all of them are powers of two
        factors = cycle([2**53 if i == j else ROOT_HALF for i in range(self.dim) for j in range(i + 1)])
        flat = [above * (common // below) * next(factors) for above, below in ratios]
        return [flat[i : i + self.width] for i in range(0, len(flat), self.width)], Fraction(1, common << 53)

    def steps(self, column: Record, sign: int) -> Statements:
        """What must be ⪰ 0 if a column is monotone."""
        for pencil in range(self.members * self.pencils):
            packed, unit = self.matrices(pencil, column.start, column.stop - column.missing)
            packed = [[0] * self.width, *packed] if column.kind == "linear" else packed
            for (low, high), (one, other) in zip(pairwise(column.nodes), pairwise(packed), strict=True):
                where = f"from {shown(low)} to {shown(high)} of {shown(column.name)} in set {pencil + 1} of matrices"
                yield where, [sign * (y - x) for x, y in zip(one, other, strict=True)], unit

    def bends(self, sign: int) -> Statements:
        """What must be ⪰ 0 if all columns are convex (1) or concave (-1)."""
        for column in (column for column in self.columns if column.kind == "curve"):
            nodes = [Fraction(node) for node in column.nodes]
            common = math.lcm(*(node.denominator for node in nodes))
            lengths = [int((high - low) * common) for low, high in pairwise(nodes)]
            for i, ((_, one, unit), (where, other, _)) in enumerate(pairwise(self.steps(column, sign))):
                before, after = lengths[i % len(lengths)], lengths[(i + 1) % len(lengths)]
                if (i + 1) % len(lengths):  # or else they belong to different members
                    yield where, [y * before - x * after for x, y in zip(one, other, strict=True)], unit / common

    def proof(self, statements: Statements) -> tuple[str, str]:
        """Whether all these matrices are ⪰ 0: the verdict, and what shows it."""
        pivots: list[Fraction] = []
        for where, packed, unit in statements:
            holds, pivot = semidefinite([packed[i * (i + 1) // 2 :][: i + 1] for i in range(self.dim)])
            pivots.append(pivot * unit * self.scale)
            if not holds:
                return "not proven" if holds is None else "refuted", f"pivot {shown(pivots[-1])} {where}"
        return "proven", f"{len(pivots)} matrices" + (f", smallest pivot {shown(min(pivots))}" if pivots else "")

    def reach(self, column: Record, output: int) -> tuple[Fraction, Fraction, str]:
        """What any change of a column does to a raw score: at most, at least, and between which cells."""
        sets, last, mean = [], len(column.nodes) - 1, len(column.cells)
        for member, weight in enumerate(self.weights):
            packed, unit = self.matrices(member * self.pencils + output, column.start, column.stop)
            cells = [[factor * x for x in packed[offset]] for offset, factor in column.cells]
            shift = max(0, max(abs(x) for own in cells for x in own).bit_length() - 64)
            cells = [[x >> shift for x in own] for own in cells]  # which moves no difference by more than 1
            cells.append([sum(entries) // mean for entries in zip(*cells, strict=True)])
            sets.append((cells, any(map(any, cells)) * self.scale * weight * unit * column.unit * 2**shift))

        def moved(one: int, other: int, depth: int = 0) -> tuple[Fraction, Fraction]:
            low = high = Fraction(0)
            for cells, price in sets:
                step = [x - y for x, y in zip(cells[one], cells[other], strict=True)]
                below, above = norm([[step[k] for k in line] for line in self.table], depth)
                low, high = low + price * max(0, below - self.dim), high + price * (above + self.dim)
            return high, low

        radius = [moved(i, mean)[0] for i in range(mean)]
        order = sorted(range(mean), key=lambda i: -radius[i])
        if mean > MOST_CELLS and not column.rising and radius[order[0]] + radius[order[1]] <= column.cap:
            return radius[order[0]] + radius[order[1]], Fraction(0), "by way of the mean of its many cells"
        best, where = (Fraction(0), Fraction(0)), (0, 0)
        for position, i in enumerate(order):
            for j in order[:position]:
                if radius[i] + radius[j] <= best[0]:
                    break
                matters = not column.rising or {i, j} == {0, last} or max(i, j) > last  # or its ends are further
                if matters and moved(i, j)[0] > best[0]:
                    best, where = max((best, where), (moved(i, j, 30), (i, j)))
        names = [*map(shown, column.nodes), "missing" if column.missing else "an unseen level"]
        return *best, f"largest between {names[min(where)]} and {names[max(where)]}"

    def influence(self, column: Record) -> tuple[Any, ...]:
        """The claim about what a column can do, which must not exceed its cap."""
        found = [self.reach(column, output) for output in range(self.pencils)]
        most, least = max(found), max(low for _, low, _ in found)
        verdict = "proven" if most[0] <= column.cap else "refuted" if least > column.cap else "not proven"
        words = f"no change of {shown(column.name)} moves a raw score by more than {shown(most[0])}"
        words += "" if self.clamp or column.kind == "category" else " within the training range"
        cap = f"; the cap is {shown(column.cap)}" if column.cap < math.inf else ""
        return "influence", column.name, words, verdict, bool(cap), most[2] + cap, float(shown(most[0]))

    def claims(self) -> Iterator[tuple[Any, ...]]:
        """All claims about the model."""
        own = f"P(y = {shown(self.classes[-1])})" if self.classes else "the prediction"
        own = {"Ordinal": "P(y > j)", "Pinball": "every quantile", "SoftmaxLog": "every raw score"}.get(self.loss, own)
        for column in self.columns:
            for sign in [column.sign] if column.sign else [1, -1] * (column.kind != "category"):
                verdict, how = self.proof(self.steps(column, -sign if self.loss == "Ordinal" else sign))
                if column.sign or (verdict == "proven" and not column.rising):
                    words = f"{own} never {'falls' if sign > 0 else 'rises'} as {shown(column.name)} rises"
                    yield "monotone", column.name, words, verdict, bool(column.sign), how, None
                column.rising = column.rising or verdict == "proven"
        if self.bend:
            fits = not self.clamp and {*self.indices} == {self.dim - 1 if self.bend > 0 else 0}
            wrong = f"clamp is {self.clamp}, eigenvalue number {self.indices[0] + 1} of {self.dim}"
            verdict, how = self.proof(self.bends(self.bend)) if fits else ("refuted", wrong)
            words = f"every raw score is {self.shape} for any fixed categories"
            yield self.shape, "all columns of numbers together", words, verdict, True, how, None
        yield from map(self.influence, self.columns)
        apart = ("not proven", "start must be the same for all of them") if len({*self.start}) > 1 else None
        if len(self.levels) > 1:
            rows = Record(name="quantile", kind="curve", nodes=self.levels, missing=False, start=self.columns[-1].stop)
            rows.stop = self.n_design
            verdict, how = apart or self.proof(self.steps(rows, 1))
            yield "quantiles", "all", "a higher quantile is never below a lower one", verdict, True, how, None
        if len(self.indices) > 1:
            verdict = "proven" if self.indices == sorted({*self.indices}) else "refuted"
            verdict, how = apart or (verdict, f"eigenvalues number {[k + 1 for k in self.indices]} of one matrix")
            yield "cut-points", "all", "cut-points never cross", verdict, True, how, None


def main() -> int:
    """Print the certificate of a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", type=Path, help="a file that model.save wrote")
    parser.add_argument("--json", action="store_true", help="print data")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    args = parser.parse_args()
    try:
        need(args.model.is_file() and args.model.stat().st_size <= MOST_BYTES, "it is not a file, or too large")
        model = Model(args.model.read_bytes())
        claims = [Record(**dict(zip(KEYS, claim, strict=True))) for claim in model.claims()]
    except Exception as error:  # whatever it is, nothing is proven
        odd = "" if type(error) is ValueError else f"it is no model of lambdak: {type(error).__name__}: "
        print(f"cannot check {shown(args.model, 300)}: {shown(f'{odd}{error}', 300)}", file=sys.stderr)
        return 2
    claims.sort(key=lambda claim: (not claim.requested, claim.verdict == "proven"))
    holds = all(claim.verdict == "proven" for claim in claims if claim.requested)
    words = f"{model.estimator}, {len(model.columns)} columns, {model.members} members, matrices of size {model.dim}"
    if args.json:
        print(json.dumps({"model": words, "holds": holds, "claims": [vars(claim) for claim in claims]}, indent=2))
        return 1 - holds
    print(f"{shown(args.model, 300)}: {words}; format {model.format}, the checksum fits")
    for claim in claims:
        print(f"{claim.verdict + ', requested' * claim.requested:<21} {claim.statement} ({claim.how})")
    print("All that was requested is proven." if holds else "Not all that was requested is proven.")
    return 1 - holds


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
r"""Check, exactly and without lambdak, what a saved lambdak model promises: python lambdak_check.py MODEL [--json].

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
  valley     C_j − C_{j+1} ⪰ 0 up to the knot or level at which it turns, C_{j+1} − C_j ⪰ 0 after it (peak: vice versa)
  direction  Σ_i v_i S_i ⪰ 0 for the slopes S_i of all combinations of segments, and columns continue straight
  influence  scale Σ_m weights[m] ‖A_m(one) − A_m(other)‖₂ ≤ B for every two cells of a column; joint: ΣB over columns
  slope      scale Σ_m weights[m] ‖Σ_i w_i S_i‖₂ ≤ B for every choice of one S_i = (C_{j+1} − C_j) / (κ_{j+1} − κ_j) of
             each column i, which moves by w_i; zero is one more, where several columns move and this one is clamped
  range      predictions below (above) a number become that number: the last step, which only has to be asked for
  quantiles  P_{l+1} − P_l ⪰ 0 for the matrices P_l of the quantile levels, and all start are equal; at levels between
             them a quantile is a weighted mean of two, beyond them it is the outermost one, moved alike in all rows
  cut-points the same for their matrices, or eigenvalues of one matrix with rising numbers k, and all start are equal;
             survival: the same for knots of time, beyond which all raw scores rise with one slope
  complements  matrices of the columns are c I + g P with one diagonal P of zeros and ones in each member, and along the
             numbers each g goes one way: every two the same way if k is the last eigenvalue, opposite ways if it is the
             first (substitutes: the other way round), because λ_d(M + s P) is convex in s, and λ_1 is concave
  anchored   the matrix at the cell is zero
  interactions  in every member, all columns but those of one group have matrices c I, and λ_k(A + c I) = λ_k(A) + c
They are about this exact function, and decided in integers and fractions, without a tolerance. What predict returns
differs by rounding: a bound on that is printed, a cap must leave room for twice as much, and if it exceeds 1e-4 of the
range, nothing counts as proven. What would take integers too long is not proven either.
The exit code is 0 if all that was requested is proven, 1 if not, 2 if the file cannot be read. Needs Python 3.11 only.
"""

import hashlib
import json
import math
import sys
import textwrap
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from argparse import Namespace as Record
from array import array
from collections.abc import Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import combinations, cycle, pairwise, product
from operator import mul
from pathlib import Path
from typing import Any

ROOT_HALF = 6369051672525773  # c in units of 2^-53
MOST_COMBINATIONS = 1600  # of segments of the columns of a direction: lambdak fits no more
MOST_WORK, MOST_CELLS = 2e6, 600  # more would take long: microseconds of eliminations, cells that are compared
MOST_CHOICES = 1 << 13  # of a piece of each column of a direction; beyond, the columns' slopes are added up
MOST_HEADER_BYTES, MOST_BYTES, MOST_SIZE = 1 << 24, 1 << 32, 1e24  # lambdak reads no more
LARGEST = sys.float_info.max / 4  # of numbers, so that their differences are finite
LOGS, ENDS = ("Poisson", "Gamma", "Tweedie"), "; predictions end at exp(40), whatever the raw score beyond"
SINGLE = ("SquaredError", "AbsoluteError", "Huber", "Quantile", *LOGS, "BinaryLog", "EventLog")
SHARES = 1008  # for which levels of a calibration are kept
LEAST_SCALE = 2.0**-1010  # lambdak reads no less, because products with it lose digits
LABELLED = ("SoftmaxLog", "Ordinal", "BinaryLog", "EventLog")
KEYS = ("kind", "subject", "statement", "verdict", "requested", "how", "value")  # of a claim
STRAIGHT = ("Convex", "Concave", "Dominates", "RisingAlong")  # beyond their ends
FIELDS = {  # of a shape: those that it must have, and those that it may have
    **dict.fromkeys(("Convex", "Concave", "Dominates", "Complements", "Substitutes"), (("columns",), ())),
    **dict.fromkeys(("Rising", "Falling"), (("column",), ("order",))),
    **dict.fromkeys(("Valley", "Peak"), (("column",), ("at", "chosen"))),
    "RisingAlong": (("columns", "weights"), ()),
    "MaxSlope": (("columns", "limit"), ()),
    "MaxInfluence": (("columns", "cap"), ()),
    "Anchored": (("column", "cell"), ()),
    "Interactions": (("groups",), ("pairs",)),
    "OutputRange": (("low", "high"), ()),
}
NUMBERS = ("Convex", "Concave", "Dominates", "RisingAlong", "Complements", "Substitutes")  # which categories have not
UNORDERED = ("Convex", "Concave", "Anchored")  # which speak of raw scores
KINDS = {"Rising": "monotone", "Falling": "monotone", "RisingAlong": "direction", "Dominates": "dominance"}  # of claims
OTHER = ("other",)  # the level of a category that stands for all pooled ones
Rows = list[list[int]]


def semidefinite(rows: Rows, work: list[float]) -> bool | None:
    """Whether the matrix with this lower triangle is ⪰ 0; None if that takes more than the ``work`` that is left."""
    if any(row[-1] < 0 for row in rows) or factorised(rows) or not any(map(any, rows)):
        return all(row[-1] >= 0 for row in rows)
    dim, bits, before = len(rows), max(x.bit_length() for row in rows for x in row), 1
    takes = dim**3 / 6 * (1.6 + 5.8e-7 * (dim * bits) ** 2)  # microseconds, about
    if takes > work[0]:
        return None
    work[0] -= takes
    while rows:  # elimination in integers (Bareiss): no pivot may be negative, and a zero needs a row of zeros
        (pivot, *rest), rows = [row[0] for row in rows], [row[1:] for row in rows[1:]]
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False
        if pivot:
            pairs = zip(rows, rest, strict=True)
            rows = [[(pivot * x - a * b) // before for x, b in zip(row, rest, strict=False)] for row, a in pairs]
            before = pivot
    return True


def factorised(rows: Rows) -> bool:
    """Whether 2^shift M = L Lᵀ + E in integers, with remainders E that its diagonal dominates, proves that M ⪰ 0."""
    largest = max(row[-1] for row in rows)
    shift = max(0, 192 - largest.bit_length())
    # Off its diagonal 0 ≤ E[i][j] < L[j][j], on it at least the reserve: no eigenvalue is negative (Gershgorin).
    reserve = len(rows) * (math.isqrt(max(0, largest) << shift) + 1)
    lower: Rows = []
    for row in rows:
        new: list[int] = []
        for entry, other in zip(row, lower, strict=False):
            new.append(((entry << shift) - sum(map(mul, new, other))) // other[-1])
        rest = (row[-1] << shift) - reserve - sum(map(mul, new, new))
        if rest <= 0:
            return False
        lower.append([*new, math.isqrt(rest)])
    return True


def norm(rows: Rows, depth: int) -> tuple[int, int]:
    """Integers between which ‖D‖₂ lies, the largest size of an eigenvalue, if these are all rows of D."""
    # √(Σλ² / Σλ) ≤ ‖D‖₂ ≤ √√Σλ² for the eigenvalues λ of D²; closer if D², its entries rounded by 1, is treated alike.
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
    made: dict[str, Any] = {"float": float, "tuple": tuple, "set": list, "array": list, "shape": tuple}
    return fields(inner) if tag == "dict" else made[tag](inner)


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
        column.order = value.get("order", [])
    else:
        nodes = value["knots"] if kind == "curve" else [value["low"], value["high"]]
        column.nodes = [number(node, f"knots of {what}") for node in nodes]
        rising = column.nodes == sorted({*column.nodes}) or (kind == "linear" and nodes[0] == nodes[1])
        need(rising and 0 < len(nodes) < 4096, f"knots of {what} must increase")
        ends, quarters = (column.nodes[0], column.nodes[-1]), value.get("quartiles") or []
        facts = [number(fact, f"median or quartiles of {what}", *ends) for fact in (value["median"], *quarters)]
        need(facts[1:] == sorted(facts[1:]) and len(facts) in (1, 3), f"quartiles of {what} must be two, in order")
        need(not value.get("whole") or all(x == int(x) and abs(x) < 2**52 for x in ends), f"{what} is not whole")
        column.cells = [(i, 1) for i in range(len(nodes) + column.missing)]
    if kind == "linear":
        column.center, scale = (Fraction(number(value[key], f"{key} of {what}")) for key in ("center", "scale"))
        weights = [*(Fraction(node) - column.center for node in column.nodes), scale]
        need(scale > 0 and max(map(abs, weights)) <= 10**12 * scale, f"scale of {what} must fit its range")
        low, high, one = (int(weight * math.lcm(*(w.denominator for w in weights))) for weight in weights)
        column.unit_per_number = 1 / scale
        column.cells, column.unit = [(0, low), (0, high), (1, one)][: 2 + column.missing], Fraction(1, one)
    column.reach = float(max(1, *(abs(factor) * column.unit for _, factor in column.cells)))
    column.rising, column.stop = False, start + max(offset for offset, _ in column.cells) + 1
    return column


def per_column(requested: Any, places: dict[str, int], what: str, default: Any) -> list[Any]:
    """What was requested of each column: by name or position, or one entry for each."""
    if isinstance(requested, list | tuple):
        need(len(requested) == len(places), f"{what} must have {len(places)} entries, one per column")
        return [*requested]
    found: dict[int, Any] = {}
    for key, value in ({} if requested is None else requested).items():
        at = places.get(key, key if type(key) is int and str(key) not in places else -1)
        need(0 <= at < len(places) and at not in found, f"{what} names an unknown column, or one twice: {shown(key)}")
        found[at] = value
    return [found.get(i, default) for i in range(len(places))]


def read_groups(requested: Any, places: dict[str, int], what: str) -> list[set[int]]:
    """Positions of columns, group by group, and of those in no group."""
    asked = [] if requested in (None, "pairwise", "no_interactions") else requested
    need(all(type(own) in (list, tuple) for own in [asked, *asked]) and all(asked), f"{what} must be groups of columns")
    named = [per_column(dict.fromkeys(group, True), places, what, False) for group in asked]
    groups = [{i for i, own in enumerate(group) if own} for group in named]
    return [] if requested and not asked else [*groups, {*places.values()}.difference(*groups)]


def asked_shapes(constraints: Any) -> list[tuple[str, Any]]:
    """Names of shapes, and their fields."""
    found = [] if constraints is None else constraints
    fits = type(found) in (list, tuple) and all(type(own) is tuple and len(own) == 2 for own in found)
    need(fits and all(type(own) is dict and type(name) is str for name, own in found), "constraints must be shapes")
    for name, own in found:
        need(name in FIELDS, f"constraints have {shown(name)}, which is no shape")
        must, may = FIELDS[name]
        need({*must} <= own.keys() <= {*must, *may}, f"fields of {name} must be {', '.join([*must, *may])}")
    return [*found]


def summed(*terms: tuple[Fraction, dict[int, Fraction]]) -> dict[int, Fraction]:
    """Σ q · factors, by design column."""
    found: dict[int, Fraction] = {}
    for q, factors in terms:
        for j, factor in factors.items():
            found[j] = found.get(j, Fraction(0)) + q * factor
    return found


class Model:
    """The model in the bytes of a file, and what is claimed about it."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little") if sys.byteorder == "little" else sys.maxsize
        need(8 + size <= len(data) and size <= MOST_HEADER_BYTES, "it is not a whole safetensors file (or big-endian)")
        outer = json.loads(data[8 : 8 + size].decode(), object_pairs_hook=fields)
        header = json.loads(outer["__metadata__"]["lambdak"], object_pairs_hook=fields)
        self.format, self.estimator = number(header["format"], "format", 1, 8), shown(header["estimator"])
        self.columns: list[Record] = []
        for value in header["columns"]:
            self.columns.append(read_column(value, self.columns[-1].stop if self.columns else 1))
        self.clamp, sparse = header["encoder"]["clamp"], header["encoder"]["from_sparse"]
        need(type(self.clamp) is type(sparse) is bool, "clamp and from_sparse must be true or false")
        zeros = all(c.kind == "linear" and c.center == 0 and c.nodes[0] <= 0 <= c.nodes[1] for c in self.columns)
        need(zeros or not sparse, "columns of a sparse table must be linear, with center 0 and 0 in their range")
        asked, loss, self.loss = header["parameters"], header["loss"], header["loss"]["kind"]
        signs, caps, self.shape = (decoded(asked.get(key)) for key in ("monotonic_cst", "max_influence", "shape"))
        constraints = self.requested = asked_shapes(decoded(asked.get("constraints")))
        self.shape = self.shape or next((name.lower() for name, own in constraints if own.get("columns") == ()), None)
        self.bend, self.classes = {None: 0, "convex": 1, "concave": -1}[self.shape], decoded(header["classes"]) or []
        places = fields([(column.name, i) for i, column in enumerate(self.columns)])
        if isinstance(signs, str) and signs in ("increasing", "decreasing"):
            signs = [(c.kind != "category") * (1 if signs == "increasing" else -1) for c in self.columns]
        caps = caps if isinstance(caps, dict | list | tuple | None) else [caps] * len(places)
        caps = per_column(caps, places, "max_influence", math.inf) if isinstance(caps, list | tuple) else caps
        more = [own for name, own in constraints if name == "MaxInfluence"]
        caps = dict(enumerate(caps)) if isinstance(caps, list | tuple) else caps
        caps = {**(caps or {}), **{own["columns"]: own["cap"] for own in more}} if more else caps
        groups = {key: caps.pop(key) for key in [*caps] if type(key) is tuple} if isinstance(caps, dict) else {}
        fits = all(len({*key}) > 1 and type(cap) in (int, float) and cap >= 0 for key, cap in groups.items())
        need(fits, "max_influence of a group must be a number that is not negative for two columns or more")
        owned = zip(read_groups([*groups], places, "max_influence"), groups.values(), strict=False)
        self.range = ""  # in words
        self.steep: list[tuple[list[tuple[Record, Fraction]], float]] = []  # directions, limits of slopes
        self.groups = [([self.columns[i] for i in sorted(own)], cap) for own, cap in owned]  # and what they may do
        signs, caps = per_column(signs, places, "monotonic_cst", 0), per_column(caps, places, "max_influence", math.inf)
        for column, sign, cap in zip(self.columns, signs, caps, strict=True):
            column.clamp = self.clamp
            what = f"{column.kind} column {shown(column.name)}"
            need(sign in ((0,) if column.kind == "category" else (-1, 0, 1)), f"monotonic_cst of {what}: {shown(sign)}")
            need(
                type(cap) in (int, float) and cap >= 0, f"max_influence of {what} must be a number that is not negative"
            )
            column.sign, column.cap = int(sign), cap
        need(self.clamp == (self.shape is None), "shape must be what the model was fitted with")
        self._place(constraints, places)
        given = [own["groups"] for name, own in constraints if name == "Interactions"]
        together = given[0] if given else decoded(asked.get("interaction_cst"))
        self.few = 2 if together == "pairwise" else 1  # so few are a group
        self.together = read_groups(together, places, "interaction_cst")
        self.levels = [number(q, "quantiles", 0.0, 1.0) for q in loss["quantiles"]] if self.loss == "Pinball" else []
        wanted = number(loss.get("n_classes", 2), "n_classes", 2, 1 << 20) if self.loss in LABELLED else 0
        if self.loss == "Survival":
            self.levels = [number(t, "event_times", sys.float_info.min) for t in loss["event_times"]]
            need(loss["link_name"] in ("cloglog", "logit") and 0 < loss["tail"] < 1e9, "its link or tail")
        several = dict.fromkeys(SINGLE, 1) | dict.fromkeys(("Pinball", "Survival"), len(self.levels))
        several |= {"SoftmaxLog": wanted, "Ordinal": wanted - 1}
        self.outputs, self.pencils = several[self.loss], wanted if self.loss == "SoftmaxLog" else 1  # of each member
        fits = type(self.classes) is list and len(self.classes) == wanted
        worded = self.loss == "Ordinal" and fits and all(type(label) is str for label in self.classes)
        fits = fits and all(low < high for low, high in pairwise(sorted(self.classes) if worded else self.classes))
        need(fits, "classes do not fit the loss, or are not in their order")
        fits = self.levels == sorted({*self.levels}) and self.outputs > 0
        need(fits and (self.loss != "Pinball" or 0 < self.levels[0] <= self.levels[-1] < 1), "levels must increase")
        ordered = any(c.sign for c in self.columns) or any(name not in UNORDERED for name, *_ in self.shapes)
        need(self.loss != "SoftmaxLog" or not ordered, "monotonic_cst needs two classes")
        self.dim, self.members = number(header["dim"], "dim", 1, 128), number(header["members"], "members", 1, 64)
        self.indices = [number(index, "indices", 0, self.dim - 1) for index in header["indices"]]
        cuts = self.outputs if self.loss == "Ordinal" else 1
        self.levels += range(cuts * (len(self.indices) < cuts))  # cut-points saved before are eigenvalues instead
        need(len(self.indices) == (1 if self.levels else cuts), "indices must fit the loss")
        self._read_tensors(header, outer, data[8 + size :])
        self.scale, reach = Fraction(number(header["scale"], "scale", LEAST_SCALE)), math.fsum(map(abs, self.coef))
        need(reach <= MOST_SIZE and reach * self.scale <= 1.7e308, "its matrices are too large to compute with")
        one = abs(sum(self.weights, Fraction(-1))) <= Fraction(1e-9)
        need(one and min(self.weights) > 0, "weights must be positive and sum to 1")
        self.rounding, self.work = self._rounding(), ([MOST_WORK], [MOST_WORK])  # of claims not requested, requested

    def _place(self, constraints: list[tuple[str, Any]], places: dict[str, int]) -> None:
        """Find the columns of all shapes; what is about one direction of numbers is kept with its column."""
        self.shapes: list[tuple[str, Any, list[Record]]] = []
        for name, own in constraints:
            if name == "OutputRange":
                need(not self.range, "there are two ranges of predictions")
                self._bound(own["low"], own["high"])
                continue
            if name == "MaxSlope":
                self._limit(own["columns"], own["limit"], places)
                continue
            keys = own.get("columns", own.get("column", ()))
            keys = keys if isinstance(keys, tuple | list) else (keys,)
            one = [per_column({key: True}, places, name, False).index(True) for key in keys]
            columns = [self.columns[i] for i in one]
            need(len({*one}) == len(one), f"{name} must name a column once")
            need(name not in NUMBERS or all(c.kind != "category" for c in columns), f"{name} needs columns of numbers")
            if name in ("Rising", "Falling") and columns[0].kind != "category":
                sign = 1 if name == "Rising" else -1
                need(own.get("order") is None, f"{name} of {shown(columns[0].name)} must have no order")
                need(columns[0].sign in (0, sign), f"{columns[0].name} cannot both rise and fall")
                columns[0].sign = sign
            elif columns and name not in ("MaxInfluence", "Interactions"):
                own = {key: value for key, value in own.items() if key not in ("column", "columns")}
                self.shapes += [(name, own, columns)] * ((name, own, columns) not in self.shapes)
        for name, _, columns in self.shapes:
            for column in columns:
                column.clamp = column.clamp and name not in STRAIGHT
        self.clamp = all(column.clamp for column in self.columns)

    def _bound(self, low: Any, high: Any) -> None:
        """Keep the range of predictions, which must suit the loss."""
        ends = ((low, -math.inf), (high, math.inf))
        first, last = (number(end, "an end of OutputRange") if end is not None else inf for end, inf in ends)
        need((low, high) != (None, None) and first < last, "low of OutputRange must be below high")
        need(self.loss not in ("SoftmaxLog", "Ordinal", "Survival"), "OutputRange needs one prediction, or quantiles")
        need(self.loss not in LOGS or last > 0, "high of OutputRange must be positive where predictions are")
        chance = (low is None or 0 <= first < 1) and (high is None or 0 < last <= 1)
        need(self.loss not in ("BinaryLog", "EventLog") or chance, "OutputRange of probabilities must lie in [0, 1]")
        bends = [(name, own) for name, own in self.requested if name in ("Convex", "Concave")]
        kinds = {*(name.lower() for name, _ in bends), self.shape}
        need("convex" not in kinds or high is None, "what is convex has no highest value, but OutputRange has")
        need("concave" not in kinds or low is None, "what is concave has no lowest value, but OutputRange has")
        words = [f"{side} {shown(end)}" for side, end in (("below", low), ("above", high)) if end is not None]
        self.range = " or ".join(words)

    def _limit(self, keys: Any, limit: Any, places: dict[str, int]) -> None:
        """Keep the limit of a slope: along one column, along a direction, or (None) along every column of numbers."""
        need(type(limit) in (int, float) and limit >= 0, "limit of MaxSlope must be a number that is not negative")
        pairs = keys if isinstance(keys, tuple) else [(keys, 1)]
        weights = [Fraction(number(weight, "a weight of MaxSlope")) for _, weight in pairs]
        need(all(weights), "a weight of MaxSlope must not be zero")
        named = [per_column({key: True}, places, "MaxSlope", False).index(True) for key, _ in pairs if key is not None]
        need(len({*named}) == len(named) and bool(named or keys is None), "MaxSlope must name a column once")
        own = [*zip([self.columns[i] for i in named], weights, strict=False)]
        need(all(column.kind != "category" for column, _ in own), "MaxSlope needs columns of numbers")
        self.steep.append((sorted(own, key=lambda pair: pair[0].start), limit))

    def _read_tensors(self, header: dict[str, Any], outer: dict[str, Any], data: bytes) -> None:
        self.table = [[max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in range(self.dim)] for i in range(self.dim)]
        self.width, self.n_design = self.dim * (self.dim + 1) // 2, self.columns[-1].stop + len(self.levels)
        shapes = [(self.members * self.pencils, self.n_design, self.width), (self.outputs,), (self.members,)]
        tensors, names, seal = {}, ["coef", "start", "weights"], header.pop("sha256")
        wanted = dict(zip(names, zip(shapes, (header["dtype"], "float64", "float64"), strict=True), strict=True))
        self.counts = self._counts(header.get("calibration", {}))
        wanted["calibration"] = ((len(self.counts), 2, SHARES), "float64")
        names += ["calibration"] * bool(self.counts)
        digest = hashlib.sha256(json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
        for name in sorted({*outer, *names} - {"__metadata__"}):  # the checksum also covers what only training reads
            shape, dtype = wanted.get(name) or (tuple(outer[name]["shape"]), outer[name]["dtype"].replace("F", "float"))
            first, last = (number(at, f"offset of {name}", 0, len(data)) for at in outer[name]["data_offsets"])
            tensors[name] = array({"float32": "f", "float64": "d"}[dtype], data[first:last])
            fits = [dtype.replace("float", "F"), *shape] == [outer[name]["dtype"], *outer[name]["shape"]]
            fits = fits and len(tensors[name]) == math.prod(shape) and all(map(math.isfinite, tensors[name]))
            need(fits, f"tensor {shown(name)} must be finite {dtype} of shape {shape}")
            digest.update(f"{name}:{dtype}:{shape};".encode() + data[first:last])
        ends = [0, *(at for span in sorted(outer[name]["data_offsets"] for name in tensors) for at in span), len(data)]
        trained = self.format == 3 or (self.format > 3 and "training" in header)
        need(ends[::2] == ends[1::2] and (trained or len(tensors) == len(names)), "its tensors overlap or leave gaps")
        need(seal == digest.hexdigest(), "its checksum does not fit: it was changed after it was saved")
        self.coef, self.start, self.weights = tensors["coef"], *([Fraction(x) for x in tensors[k]] for k in names[1:3])
        own = list(tensors["calibration"]) if self.counts else []
        parts = [own[at : at + SHARES] for at in range(0, len(own), SHARES)]  # lower ends, upper ends, group by group
        rising = all(part == sorted(part, reverse=at % 2 == 0) and min(part) >= 0 for at, part in enumerate(parts))
        need(rising and max(own, default=0) <= 1, "levels of calibration must be in order, in [0, 1]")

    def _counts(self, found: dict[str, Any]) -> list[int]:
        """The rows that a calibration was counted on, group by group; it must not break what is promised."""
        need(not found or (self.format > 7 and self.loss == "Pinball"), "calibration belongs to quantiles")
        apart = [self.columns[at] for at in [found.get("column")] if at is not None]
        bound = [own for *_, columns in self.shapes for own in columns] + [c for group, _ in self.groups for c in group]
        free = all(own.kind == "category" and own.cap == math.inf and own not in bound for own in apart)
        whole = len(self.columns) <= max(self.few, *map(len, self.together), 0) or not apart  # no limit to interactions
        need(free and whole, "groups of calibration must be those of a category without promises")
        for side in ("below", "above") * bool(found):
            number(found[side], f"{side} of calibration", 0.0)
        need(len(found.get("groups", ())) == max(len(found.get("rows", ())) - 1, 0), "groups of calibration need rows")
        return [number(rows, "rows of calibration", 1, 1 << 40) for rows in found.get("rows", ())]

    def matrices(self, pencil: int, start: int, stop: int) -> tuple[Rows, Fraction]:
        """Packed matrices of the design columns from ``start`` to ``stop`` − 1, in integers, and their unit."""
        first, last = ((pencil * self.n_design + end) * self.width for end in (start, stop))
        ratios = [x.as_integer_ratio() for x in self.coef[first:last]]
        common = max(below for _, below in ratios)  # all of them are powers of two
        factors = cycle([2**53 if i == j else ROOT_HALF for i in range(self.dim) for j in range(i + 1)])
        flat = [above * (common // below) * next(factors) for above, below in ratios]
        return [flat[i : i + self.width] for i in range(0, len(flat), self.width)], Fraction(1, common << 53)

    def _rounding(self) -> float:
        """How far a raw score that predict computes is from the exact one, within the training range, at most."""
        sums = [0.0] * self.pencils  # of the norms of all matrices of a row together: the mean over members
        sizes = [math.hypot(*self.coef[i : i + self.width]) for i in range(0, len(self.coef), self.width)]
        for at, own in enumerate(sizes[i : i + self.n_design] for i in range(0, len(sizes), self.n_design)):
            parts = [column.reach * max(own[column.start : column.stop]) for column in self.columns]
            parts += [own[0], max([0.0, *own[self.columns[-1].stop :]])]
            sums[at % self.pencils] += float(self.weights[at // self.pencils]) * sum(parts)
        # in units of 2^-53: 2 for each column, and 16; 4.5 d² + 44.5 d for an eigenvalue; members + 6 for their mean
        units = 2 * len(self.columns) + 22 + self.members + (4.5 * self.dim**2 + 44.5 * self.dim) * (self.dim > 1)
        error = units / 2**53 * max(sums) * float(self.scale) + (self.members + 6) / 2**53 * float(
            max(map(abs, self.start))
        )
        return float(f"{1.03 * error + 1e-290 * float(self.scale) + 1e-318:.3g}")  # for second order and underflow

    def steps(self, column: Record, sign: int) -> Iterator[tuple[str, list[int]]]:
        """What must be ⪰ 0 if a column is monotone: where, and a packed matrix."""
        for at in range(self.members * self.pencils):
            zero = [[0] * self.width] * (column.kind == "linear")
            packed = zero + self.matrices(at, column.start, column.stop - column.missing)[0]
            for (low, high), (one, other) in zip(pairwise(column.nodes), pairwise(packed), strict=True):
                where = f"from {shown(low)} to {shown(high)} of {shown(column.name)} in member {at // self.pencils + 1}"
                yield where, [sign * (y - x) for x, y in zip(one, other, strict=True)]

    def bends(self, sign: int) -> Iterator[tuple[str, list[int]]]:
        """What must be ⪰ 0 if all columns are convex (1) or concave (-1)."""
        for column in (column for column in self.columns if column.kind == "curve"):
            common = math.lcm(*(Fraction(node).denominator for node in column.nodes))
            lengths = [int((Fraction(high) - Fraction(low)) * common) for low, high in pairwise(column.nodes)]
            for i, ((_, one), (where, other)) in enumerate(pairwise(self.steps(column, sign)), 1):
                if at := i % len(lengths):  # or else they belong to different members
                    yield where, [y * lengths[at - 1] - x * lengths[at] for x, y in zip(one, other, strict=True)]

    def combinations(self, name: str, own: Any, columns: list[Record]) -> Iterator[tuple[str, dict[int, Fraction]]]:
        """What a shape asks: where, and factors of design columns whose sum of matrices must be ⪰ 0."""
        first, sign = columns[0], -1 if self.loss == "Ordinal" and name not in UNORDERED else 1
        if name in ("Rising", "Falling"):
            sign *= 1 if name == "Rising" else -1
            levels = [level for level in own["order"] or first.order if level in first.nodes]
            self.check_order(first, levels)
            for low, high in pairwise(levels):
                one, other = (Fraction(first.start + first.nodes.index(level)) for level in (low, high))
                yield f"from {shown(low)} to {shown(high)}", {int(one): Fraction(-sign), int(other): Fraction(sign)}
        elif name in ("Valley", "Peak"):
            sign *= 1 if name == "Valley" else -1
            nodes, turn = first.order if first.kind == "category" else first.nodes, own["at"]
            if first.kind == "category":
                self.check_order(first, nodes)
                need(turn in nodes, f"the turn of {shown(first.name)} must be a level")
                places = [first.start + first.nodes.index(level) for level in nodes]
                steps = [{one: Fraction(-1), other: Fraction(1)} for one, other in pairwise(places)]
            else:
                inside = nodes[0] < number(turn, "the turn") < nodes[-1]
                need(inside or first.clamp or len(nodes) == 1, f"{shown(first.name)} must turn between its knots")
                need(
                    not inside or (turn in nodes and first.kind == "curve"),
                    f"{shown(first.name)} has no knot at its turn",
                )
                steps = [slope for _, slope in self.slopes(first)]
            for rank, ((low, high), step) in enumerate(zip(pairwise(nodes), steps, strict=True), 1):
                after = rank > nodes.index(turn) if first.kind == "category" else high > turn
                yield f"from {shown(low)} to {shown(high)}", summed((Fraction(sign if after else -sign), step))
        elif name in ("RisingAlong", "Dominates"):
            weights = own["weights"] if name == "RisingAlong" else (1, -1)
            fits = type(weights) is tuple and len(weights) == len(columns) > 1
            weights = [Fraction(number(weight, f"weights of {name}")) for weight in weights] if fits else []
            need(fits and all(weights), f"{name} needs a number other than zero for each of two columns or more")
            parts = [
                [*self.slopes(column)] or [(f"{shown(column.name)} flat", dict[int, Fraction]())] for column in columns
            ]
            need(math.prod(map(len, parts)) <= MOST_COMBINATIONS, f"{name} has too many combinations of segments")
            for along in product(*parts):
                terms = ((sign * weight, slope) for weight, (_, slope) in zip(weights, along, strict=True))
                yield " and ".join(where for where, _ in along), summed(*terms)
        elif name in ("Convex", "Concave"):
            for column in columns:
                slopes = [*self.slopes(column)]
                for (_, before), (where, after) in pairwise(slopes):
                    turn = 1 if name == "Convex" else -1
                    yield where, summed((Fraction(turn), after), (Fraction(-turn), before))
        else:
            raise ValueError(f"{shown(name)} is not known to this checker")

    def check_order(self, column: Record, levels: list[Any]) -> None:
        """Refuse an order that does not name every level of a category once."""
        known = [level for level in column.nodes if level not in (None, OTHER)]
        need(sorted(map(repr, levels)) == sorted(map(repr, known)), f"the order of {shown(column.name)}")

    def slopes(self, column: Record) -> Iterator[tuple[str, dict[int, Fraction]]]:
        """The slope of a column of numbers between its knots: where, and its factors of design columns."""
        if column.kind == "linear":
            yield f"along {shown(column.name)}", {column.start: column.unit_per_number}
            return
        for i, (low, high) in enumerate(pairwise(column.nodes)):
            steep = 1 / (Fraction(high) - Fraction(low))
            where = f"from {shown(low)} to {shown(high)} of {shown(column.name)}"
            yield where, {column.start + i: -steep, column.start + i + 1: steep}

    def asked(self, name: str, own: Any, columns: list[Record]) -> Iterator[tuple[str, list[int]]]:
        """What must be ⪰ 0 for a shape in every member: where, and a packed matrix."""
        combinations = [*self.combinations(name, own, columns)]
        for at in range(self.members * self.pencils):
            packed, _ = self.matrices(at, 1, self.columns[-1].stop)
            for where, factors in combinations:
                common = math.lcm(*(q.denominator for q in factors.values()))
                terms = [(int(q * common), packed[j - 1]) for j, q in factors.items()]
                yield (
                    f"{where} in member {at // self.pencils + 1}",
                    [sum(q * row[k] for q, row in terms) for k in range(self.width)],
                )

    def promised(self, name: str, own: Any, columns: list[Record]) -> tuple[str, str]:
        """Whether a shape is kept: the verdict, and what shows it."""
        if name in ("Complements", "Substitutes"):
            return self.joint(name, columns)
        if name == "Anchored":
            return self.anchored(own["cell"], *columns)
        end = {"Convex": self.dim - 1, "Concave": 0}.get(name)
        if end is not None and {*self.indices} != {end} and not all(map(self.only_adds, columns)):
            return "refuted", f"it is eigenvalue number {self.indices[0] + 1} of {self.dim}"
        if name in STRAIGHT and any(column.clamp for column in columns):
            return "refuted", "its columns do not continue straight"
        return self.proof(self.asked(name, own, columns))

    def joint(self, name: str, columns: list[Record]) -> tuple[str, str]:
        """Whether columns go their ways along one pattern in every member: the verdict, and what shows it."""
        end = 1 if {*self.indices} == {self.dim - 1} else -1 if {*self.indices} == {0} else 0
        sign = end * (1 if name == "Complements" else -1) * (-1 if self.loss == "Ordinal" else 1)
        on = {i * (i + 3) // 2 for i in range(self.dim)}  # the diagonal
        for at in range(self.members * self.pencils):
            where, sets, ways = f"in member {at // self.pencils + 1}", [], []
            for column in columns:
                rows = [*self.raw_rows(at, column)][: len(column.nodes) if column.kind == "curve" else 1]
                several = column.kind == "linear" or len(rows) > 1
                if several and any(x != row[0] * (k in on) for row in rows for k, x in enumerate(row)):
                    sets.append(rows if column.kind == "curve" else [[0.0] * self.width, *rows])
            uneven = [row for rows in sets for row in rows if any(row[k] != row[0] for k in on)]
            if len(sets) < 2:
                continue  # what only adds a number works together with nothing
            ones = {k for k in on if uneven and uneven[0][k] == uneven[0][0]}
            other = min(on - ones)
            for rows in sets:
                values = ([row[0] if k in ones else row[other] * (k in on) for k in range(self.width)] for row in rows)
                if any([*row] != wanted for row, wanted in zip(rows, values, strict=True)):
                    return "not proven", f"matrices of a column are not c I + g P {where}"
                heights = [Fraction(row[other]) - Fraction(row[0]) for row in rows]
                ways.append({(high > low) - (high < low) for low, high in pairwise(heights)} - {0})
            if any(len(way) > 1 for way in ways):
                return "not proven", f"a column goes both ways {where}"
            if any(max(one) * max(two) != sign for one, two in combinations(filter(None, ways), 2)):
                return "not proven", f"two columns do not go their ways {where}"
        return "proven", f"{self.members * self.pencils} times matrices c I + g P, each g one way"

    def anchored(self, cell: Any, column: Record) -> tuple[str, str]:
        """Whether the matrix at a cell is zero in every member: the verdict, and what shows it."""
        what, nodes = f"the cell {shown(cell)} of {shown(column.name)}", [*column.nodes]
        if cell is None and column.kind == "curve":
            nodes += [None] * column.missing
        need(cell is None or isinstance(cell, str | int | float), f"{what} must be plain")
        if column.kind == "linear":
            fits = cell is not None and type(cell) is not str and nodes[0] <= cell <= nodes[1]
            place, zero = 0, fits and Fraction(cell) == column.center
        else:
            fits = cell in nodes
            place, zero = nodes.index(cell) if fits else 0, False
        need(fits, f"{what} must be one of training")
        own = ([*self.raw_rows(at, column)][place] for at in range(self.members * self.pencils))
        holds = zero or not any(map(any, own))
        return "proven" if holds else "refuted", "its matrix there is zero" if holds else "its matrix there is not zero"

    def only_adds(self, column: Record) -> bool:
        """Whether all matrices of a column are multiples of I."""
        rows = (row for at in range(self.members * self.pencils) for row in self.raw_rows(at, column))
        diagonal = [i == j for i in range(self.dim) for j in range(i + 1)]
        return all(x == row[0] * one for row in rows for x, one in zip(row, diagonal, strict=True))

    def raw_rows(self, pencil: int, column: Record) -> Iterator[Any]:
        """Packed matrices of a column, as they are stored."""
        for j in range(pencil * self.n_design + column.start, pencil * self.n_design + column.stop):
            yield self.coef[j * self.width :][: self.width]

    def proof(self, statements: Iterator[tuple[str, list[int]]], requested: bool = True) -> tuple[str, str]:
        """Whether all these matrices are ⪰ 0: the verdict, and what shows it."""
        count = 0
        for count, (where, packed) in enumerate(statements, 1):  # noqa: B007
            rows = [packed[i * (i + 1) // 2 :][: i + 1] for i in range(self.dim)]
            holds = semidefinite(rows, self.work[requested])
            if not holds:
                return ("not proven", f"undecided {where}") if holds is None else ("refuted", f"it fails {where}")
        return "proven", f"{count} matri{'x' if count == 1 else 'ces'}, all positive semidefinite"

    def apart(self) -> tuple[str, str]:
        """Whether all columns but those of one group have multiples of I: the verdict, and what shows it."""
        diagonal = [i == j for i in range(self.dim) for j in range(i + 1)]
        for at in range(self.members * self.pencils):
            read = set()
            for place, column in enumerate(self.columns):
                for first in range(at * self.n_design + column.start, at * self.n_design + column.stop):
                    own = self.coef[first * self.width :][: self.width]
                    if any(x != own[0] * one for x, one in zip(own, diagonal, strict=True)):
                        read.add(place)
            if len(read) > self.few and not any(read <= group for group in self.together):
                names = ", ".join(shown(self.columns[i].name) for i in sorted(read)[:6])
                return "not proven", f"member {at // self.pencils + 1} has other matrices for {names}"
        return "proven", f"{self.members * self.pencils} times the matrices of all columns but those of a group are c I"

    def reach(self, column: Record, output: int) -> tuple[Fraction, Fraction, str]:
        """What any change of a column does to a raw score: at most, at least, and between which cells."""
        sets, last, mean = [], len(column.nodes) - 1, len(column.cells)
        for member, weight in enumerate(self.weights):
            packed, unit = self.matrices(member * self.pencils + output, column.start, column.stop)
            cells = [[factor * x for x in packed[offset]] for offset, factor in column.cells]
            differ = any(own != cells[0] for own in cells)
            shift = max(0, max(abs(x) for own in cells for x in own).bit_length() - 64)
            cells = [[x >> shift for x in own] for own in cells]  # which moves no difference by more than 1
            cells.append([sum(entries) // mean for entries in zip(*cells, strict=True)])
            sets.append((cells, differ * self.scale * weight * unit * column.unit * 2**shift))

        def moved(one: int, other: int, depth: int = 0) -> tuple[Fraction, Fraction]:
            steps = [([x - y for x, y in zip(cells[one], cells[other], strict=True)], price) for cells, price in sets]
            found = [(price, *norm([[step[k] for k in line] for line in self.table], depth)) for step, price in steps]
            high = sum((price * (above + self.dim) for price, _, above in found), Fraction(0))
            return high, sum((price * max(0, below - self.dim) for price, below, _ in found), Fraction(0))

        radius = [moved(i, mean)[0] for i in range(mean)]
        order = sorted(range(mean), key=lambda i: -radius[i])
        if mean > MOST_CELLS and not column.rising and radius[order[0]] + radius[order[1]] <= column.cap:
            return radius[order[0]] + radius[order[1]], Fraction(0), "by way of the mean of its many cells"
        best, where = (Fraction(0), Fraction(0)), (0, 0)
        for position, i in enumerate(order):
            for j in order[:position]:
                if radius[i] + radius[j] <= best[0]:
                    break
                ends = not column.rising or {i, j} == {0, last} or max(i, j) > last  # or its ends are further
                if ends and moved(i, j)[0] > best[0]:
                    best, where = max((best, where), (moved(i, j, 30), (i, j)))
        names = [*map(shown, column.nodes), "missing" if column.missing else "an unseen level"]
        return *best, f"largest between {names[min(where)]} and {names[max(where)]}"

    def slope(self, own: list[tuple[Record, Fraction]], output: int) -> tuple[Fraction, Fraction]:
        """How steep a raw score is along a direction: at most, and at least."""
        sets, flat = [], len(own) > 1
        for member, weight in enumerate(self.weights):
            parts = []
            for column, q in own:
                packed, unit = self.matrices(member * self.pencils + output, column.start, column.stop)
                price, slopes = q * unit, [s.items() for _, s in self.slopes(column)]
                steps = [[(packed[j - column.start], price * f) for j, f in slope] for slope in slopes]
                found = [[sum(f * row[k] for row, f in step) for k in range(self.width)] for step in steps]
                parts.append(found + [[Fraction(0)] * self.width] * (flat and (column.clamp or not found)))
            sets.append((parts, weight * self.scale))
        largest = max((abs(x) for parts, _ in sets for part in parts for own in part for x in own), default=Fraction(0))
        if not largest:
            return Fraction(0), Fraction(0)
        unit = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length() - 96)
        whole = [([[[x // unit for x in one] for one in part] for part in parts], price) for parts, price in sets]
        room = self.dim * len(own)  # each entry of each part is rounded by less than one

        def steep(choice: tuple[int, ...], depth: int = 0) -> tuple[Fraction, Fraction]:
            high = low = Fraction(0)
            for parts, price in whole:
                chosen = (part[i] for part, i in zip(parts, choice, strict=True))
                step = [sum(entries) for entries in zip(*chosen, strict=True)]
                below, above = norm([[step[k] for k in line] for line in self.table], depth)
                high, low = high + price * unit * (above + room), low + price * unit * max(0, below - room)
            return high, low

        counts = [len(part) for part in whole[0][0]]
        if math.prod(counts) > MOST_CHOICES:
            alone = [self.slope([one], output)[0] for one in own]
            return sum(alone, Fraction(0)), Fraction(0)
        rough = sorted(((steep(choice)[0], choice) for choice in product(*map(range, counts))), reverse=True)
        best = Fraction(0), Fraction(0)
        for bound, choice in rough:
            if bound <= best[0]:
                break
            best = max(best, steep(choice, 30))
        return best

    def limited(self, own: list[tuple[Record, Fraction]], limit: float) -> tuple[Any, ...]:
        """The claim about the slope along a direction, or along every column of numbers if it names none."""
        alone = [[(column, Fraction(1))] for column in self.columns if column.kind != "category"]
        found = [self.slope(one, output) for one in ([own] if own else alone) for output in range(self.pencils)]
        most, least = max((a for a, _ in found), default=Fraction(0)), max((b for _, b in found), default=Fraction(0))
        steps = [f"{'+' if q > 0 else ''}{float(q):g} of {shown(column.name)}" for column, q in own]
        words = f"a step of {' and '.join(steps)}" if own else "a unit more of any one column of numbers"
        verdict = "proven" if most <= limit else "refuted" if least > limit else "not proven"
        names = ", ".join(shown(column.name) for column, _ in own) or "all columns"
        words += f" moves a raw score by at most {shown(most)}"
        return "slope", names, words, verdict, True, f"the limit is {shown(limit)}", float(shown(most))

    def influence(self, columns: list[Record], cap: float) -> tuple[Any, ...]:
        """The claim about what columns can do, which must not exceed their cap; a group does no more than their sum."""
        alone, names = len(columns) == 1, ", ".join(shown(column.name) for column in columns)
        found = [[*zip(*own, strict=True)] for own in zip(*(column.reaches for column in columns), strict=True)]
        most, where = max((sum(high), where[0]) for high, _, where in found)
        broken = alone and max(sum(low) for _, low, _ in found) > cap
        computed = most + 2 * Fraction(self.rounding) * (most > 0)  # what predict returns moves by no more
        verdict = "proven" if computed <= cap else "refuted" if broken else "not proven"
        words = f"no change of {names}{' together' * (not alone)} moves a raw score by more than {shown(most)}"
        words += "" if self.clamp or all(own.kind == "category" for own in columns) else " within the training range"
        how = (where if alone else "sum of the columns' bounds") + f"; the cap is {shown(cap)}" * (cap < math.inf)
        how += f", but computing can add {2 * self.rounding:.3g}" * (most <= cap < computed)
        name, kind = (columns[0].name, "influence") if alone else (names, "joint influence")
        return kind, name, words, verdict, cap < math.inf, how, float(shown(most)) or 5e-324 * (most > 0)

    def claims(self) -> Iterator[tuple[Any, ...]]:
        """All claims about the model; none is proven if computing errs by too much next to the range of a raw score."""
        found = [*self._claims()]
        reach = sum(own[-1] for own in found if own[0] == "influence")  # all columns together do at least half of it
        matters = 0 < reach < 20_000 * self.rounding
        but = f"; but computing a raw score can err by {self.rounding}, which matters next to its range of {reach:.1e}"
        for *first, own, requested, how, value in found:
            yield *first, "not proven" if matters and own == "proven" else own, requested, how + but * matters, value

    def _claims(self) -> Iterator[tuple[Any, ...]]:
        own = f"P(y = {shown(self.classes[-1])})" if self.classes else "the prediction"
        nouns = {"Ordinal": "P(y > j)", "Pinball": "every quantile", "Survival": "P(event by t)"}
        own = (nouns | {"SoftmaxLog": "every raw score"}).get(self.loss, own)
        for column in self.columns:
            for sign in [column.sign] if column.sign else [1, -1] * (column.kind != "category"):
                steps = self.steps(column, -sign if self.loss == "Ordinal" else sign)
                verdict, how = self.proof(steps, bool(column.sign))
                if column.sign or (verdict == "proven" and not column.rising):
                    words = f"{own} never {'falls' if sign > 0 else 'rises'} as {shown(column.name)} rises"
                    yield "monotone", column.name, words, verdict, bool(column.sign), how, None
                column.rising = column.rising or verdict == "proven"
            column.reaches = [self.reach(column, output) for output in range(self.pencils)]
        if self.bend:
            fits = not self.clamp and {*self.indices} == {self.dim - 1 if self.bend > 0 else 0}
            wrong = f"clamp is {self.clamp}, eigenvalue number {self.indices[0] + 1} of {self.dim}"
            verdict, how = self.proof(self.bends(self.bend)) if fits else ("refuted", wrong)
            words = f"every raw score is {self.shape} for any fixed categories" + (self.loss in LOGS) * ENDS
            yield self.shape, "all columns of numbers together", words, verdict, True, how, None
        for name, asked, columns in self.shapes:
            verdict, how = self.promised(name, asked, columns)
            about = ", ".join(shown(column.name) for column in columns)
            words = f"{name} of {about}" + (self.loss in LOGS and name == "Convex") * ENDS
            yield KINDS.get(name, name.lower()), about, words, verdict, True, how, None
        if len(self.columns) > max(self.few, *map(len, self.together), 0):
            words = "columns that are in none of the groups together do not interact"
            verdict, how = self.apart()
            yield "interactions", "all columns", words, verdict, True, how, None
        yield from (self.limited(*own) for own in self.steep)
        if self.range:
            what = f"P(y = {shown(self.classes[-1])})" if self.classes else "every prediction"
            how = "the last step of the model; a file has no more to show"
            yield "range", "predictions", f"{what} is not {self.range}", "proven", True, how, None
        yield from (self.influence(*own) for own in [*(([own], own.cap) for own in self.columns), *self.groups])
        apart = ("not proven", "start must be the same for all of them") if len({*self.start}) > 1 else None
        if len(self.levels) > 1 or len(self.indices) > 1:
            rows = Record(name="level", kind="curve", nodes=self.levels, missing=False, start=self.columns[-1].stop)
            rows.stop, one = self.n_design, f"eigenvalues number {[k + 1 for k in self.indices]} of one matrix"
            order = "proven" if self.indices == sorted({*self.indices}) else "refuted"
            verdict, how = apart or (self.proof(self.steps(rows, 1)) if self.levels else (order, one))
            words = "a higher quantile is never below a lower one" + ", at any level" * (self.loss == "Pinball")
            if self.classes:
                named = ", in the order " + " < ".join(map(shown, self.classes))
                words = "cut-points never cross" + named * (self.classes != sorted(self.classes))
            timed = ("survival", "survival never rises with time") if self.loss == "Survival" else None
            kind, words = timed or ("cut-points" if self.classes else "quantiles", words)
            yield kind, "all", words, verdict, True, how, None


def main() -> int:
    """Print the certificate of a model."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", type=Path, help="a file that model.save wrote")
    parser.add_argument("--json", action="store_true", help="print data")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    args = parser.parse_args()
    try:
        need(args.model.is_file() and args.model.stat().st_size <= MOST_BYTES, "it is not a file, or too large")
        model = Model(args.model.read_bytes())
        claims = [dict(zip(KEYS, claim, strict=True)) for claim in model.claims()]
    except Exception as error:  # whatever it is, nothing is proven
        odd = "" if type(error) is ValueError else f"it is no model of lambdak: {type(error).__name__}: "
        print(f"cannot check {shown(args.model, 300)}: {shown(f'{odd}{error}', 300)}", file=sys.stderr)
        return 2
    claims.sort(key=lambda claim: (not claim["requested"], claim["verdict"] == "proven"))
    holds = all(claim["verdict"] == "proven" for claim in claims if claim["requested"])
    words = f"{model.estimator}, columns: {len(model.columns)}, members: {model.members}, size of matrices: {model.dim}"
    if args.json:
        print(json.dumps({"model": words, "holds": holds, "rounding": model.rounding, "claims": claims}, indent=2))
    lines = [f"{shown(args.model, 300)}: {words}; format {model.format}, the checksum fits"]
    lines += [f"{c['verdict'] + ', requested' * c['requested']:<21} {c['statement']} ({c['how']})" for c in claims]
    lines += [f"Coverage of intervals was counted on {rows:,} rows; no file can prove it." for rows in model.counts[:1]]
    lines += [f"{'All' if holds else 'Not all'} that was requested is proven."]
    lines += ["These claims are about the exact function of the stored numbers; a raw score computed in float64"]
    lines += [f"differs from it by at most {model.rounding}{'' if model.clamp else ' (within the training range)'}."]
    for line in lines * (not args.json):
        print(textwrap.fill(line, 110, subsequent_indent=" " * 22, break_long_words=False, break_on_hyphens=False))
    return 1 - holds


if __name__ == "__main__":
    sys.exit(main())

"""Model files with many columns, levels, knots, members or outputs, large matrices and widely spread exponents.

Their matrices keep what they promise, so that loading them reaches, and most often passes, the proofs.
"""

from __future__ import annotations

import json
from itertools import combinations, islice
from typing import Any

import numpy as np

from fuzzing.models import described
from lambdak.estimators.saved_training import saved_training
from lambdak.store._header import Blueprint
from lambdak.store._tensors import as_safetensors, digest
from lambdak.store._training import describe_training
from lambdak.training.coordinates import MOST_COVARIANCES, Moments
from lambdak.training.draft import Draft
from lambdak.training.effort import Regularisation
from lambdak.training.finish import TrainingState
from lambdak.training.session import planned
from lambdak.training.trained_columns import TrainedColumns

_MOST_BYTES = 1 << 20  # about, of what is tried to be made
_KINDS = {"number": 0, "convex": 2, "quantiles": 4, "classes": 5, "ordinal": 7}  # of `described` models
_ENTRY = 24  # bytes of a number as text

MODEL_COUNTS = {
    "dim": (1, 128), "curves": (0, 6000), "knots": (2, 4000), "lines": (0, 6000), "categories": (0, 2000),
    "levels": (1, 60_000), "members": (1, 64), "outputs": (1, 300), "spread": (0, 900), "rank": (0, 128),
    "kind": (0, 4), "promise": (0, 8), "text": (0, 3), "missing": (0, 1), "pairs": (1, 60_000),
}  # fmt: skip

CAPPED = (2, 3, 4, 7)  # promises that are, or have, caps

Counts = dict[str, int]


def model_file(counts: Counts, seed: int) -> tuple[str, bytes] | None:
    """A model with these counts, as a file or as a text; None if it would be too large."""
    parts = _parts(counts, seed)
    return None if parts is None else _sealed(*parts, as_text=counts["text"] == 3)


def training_file(counts: Counts, seed: int) -> tuple[str, bytes] | None:
    """The same with what training needs to continue."""
    own = {**counts, "promise": counts["promise"] if counts["promise"] < 4 else 0}
    parts = _parts(own, seed)
    if parts is None:
        return None
    header, tensors = parts
    model = Blueprint.read({**header, "sha256": ""}, None)
    design, width = tensors["coef"].shape[1:]
    covariances = design if design > MOST_COVARIANCES else design * (design + 1) // 2
    if 8 * (covariances + design) + tensors["coef"].nbytes + 4 * len(tensors["coef"]) * design * width > _MOST_BYTES:
        return None
    saved = saved_training(*_state(model, tensors, np.random.default_rng(seed)))
    header["training"], arrays = describe_training(saved)
    return _sealed(header, tensors | arrays, as_text=counts["text"] == 3)


def _state(blueprint: Blueprint, tensors: dict[str, np.ndarray], rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """A model, a training state that fits it, and mean effects."""
    from lambdak.model import Model
    from lambdak.store._header import _padded

    model = Model(
        estimator=blueprint.estimator, encoder=blueprint.encoder, coef=_padded(tensors["coef"]), dim=blueprint.dim,
        weights=tensors["weights"], loss=blueprint.loss, outputs=blueprint.outputs, start=tensors["start"],
        scale=blueprint.scale, promises=blueprint.promises, classes=blueprint.classes,
    )  # fmt: skip
    design = tensors["coef"].shape[1]
    factor = rng.standard_normal((design, 4))
    spread = np.square(factor).sum(axis=1)
    moments = Moments(np.zeros(design), spread if design > MOST_COVARIANCES else factor @ factor.T)
    plan = planned(Draft.of(model, TrainedColumns.of(model.encoder.columns)), moments)
    theta = [np.zeros((len(model.coef), size, tensors["coef"].shape[2]), np.float32) for size in plan.sizes]
    shift = np.zeros(len(model.outputs.quantile_levels)) if model.outputs.quantile_levels else None
    regularisations = [Regularisation(1.0, 0.0)] * len(model.weights)
    return model, TrainingState(theta, plan, regularisations, shift, 0.5), np.zeros(model.encoder.n_features)


def _sealed(header: dict[str, Any], tensors: dict[str, np.ndarray], as_text: bool) -> tuple[str, bytes]:
    header["sha256"] = digest(header, tensors)
    if not as_text:
        return "model.safetensors", bytes(as_safetensors(tensors, {"lambdak": json.dumps(header)}))
    return "model.json", json.dumps({**header, "tensors": {k: v.tolist() for k, v in tensors.items()}}).encode()


def _parts(counts: Counts, seed: int) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    if not counts["curves"] + counts["lines"] + counts["categories"]:  # halving counts would never make a file of it
        counts = {**counts, "lines": 1}
    kind = list(_KINDS)[counts["kind"]]
    header, dim = json.loads(json.dumps(described()[_KINDS[kind]][0])), counts["dim"]
    several = counts["outputs"] + 1
    outputs = {"quantiles": several, "classes": several + 1, "ordinal": several}.get(kind, 1)
    steps = several if kind in ("quantiles", "ordinal") else 0
    numbers, knots = counts["curves"] + counts["lines"], counts["knots"] + counts["missing"]
    design = 1 + counts["curves"] * knots + counts["lines"] * (1 + counts["missing"])
    design += counts["categories"] * counts["levels"] + steps
    pencils, width = counts["members"] * (outputs if kind == "classes" else 1), dim * (dim + 1) // 2
    text = 100 * (numbers + counts["categories"]) + 7 * design
    number = _ENTRY if counts["text"] == 3 else 8
    if number * pencils * design * width + text > _MOST_BYTES:
        return None
    header["columns"] = [
        *(_curve(i, counts, header["encoder"]["clamp"]) for i in range(counts["curves"])),
        *(_line(i, counts) for i in range(counts["curves"], numbers)),
        *(_category(i, counts["levels"]) for i in range(numbers, numbers + counts["categories"])),
    ]
    header["encoder"]["from_names"], header["target"]["average"] = False, None
    header |= {"dim": dim, "members": counts["members"], "indices": [dim - 1 if kind == "convex" else 0]}
    header["dtype"] = "float64" if counts["spread"] > 60 or number == _ENTRY else "float32"
    _say_outputs(header, kind, several, outputs)
    header["parameters"] = _settings(header, counts, kind, numbers)
    coef = np.stack([_matrices(np.random.default_rng([seed, m]), header, counts, kind, steps) for m in range(pencils)])
    weights = np.full(counts["members"], 1 / counts["members"])
    return header, {"coef": coef.astype(header["dtype"]), "start": np.zeros(outputs), "weights": weights}


def _curve(i: int, counts: Counts, clamp: bool) -> dict[str, Any]:
    knots = [float(j) for j in range(counts["knots"])]
    return {"kind": "curve", "name": f"x{i}", "knots": knots, "median": 0.0, "missing": bool(counts["missing"])}


def _line(i: int, counts: Counts) -> dict[str, Any]:
    ends = {"center": 0.0, "scale": 1.0, "low": -1.0, "high": 1.0, "median": 0.0}
    return {"kind": "linear", "name": f"x{i}", **ends, "missing": bool(counts["missing"])}


def _category(i: int, levels: int) -> dict[str, Any]:
    return {"kind": "category", "name": f"x{i}", "levels": list(range(levels))}


def _say_outputs(header: dict[str, Any], kind: str, several: int, outputs: int) -> None:
    """The loss and the classes say how many outputs there are."""
    if kind == "quantiles":
        header["loss"]["quantiles"] = [(i + 1) / (several + 1) for i in range(several)]
    elif kind in ("classes", "ordinal"):
        classes = outputs + (kind == "ordinal")
        header["loss"]["n_classes"] = classes
        header["classes"] = {"array": {"dtype": "i8", "values": list(range(classes))}}


def _settings(header: dict[str, Any], counts: Counts, kind: str, numbers: int) -> dict[str, Any]:
    """What is promised; all other settings would only have to fit."""
    kept = {key: value for key, value in header["parameters"].items() if key in ("loss", "shape")}
    columns, sign = len(header["columns"]), {"classes": 0, "ordinal": -1}.get(kind, 1)
    signs = {"array": {"dtype": "i8", "values": [sign] * numbers + [0] * (columns - numbers)}}
    names = {"tuple": [f"x{i}" for i in range(columns)]}
    pairs = [[f"x{i}", f"x{j}"] for i, j in islice(combinations(range(columns), 2), counts["pairs"])]
    more: dict[str, Any] = [
        {}, {"monotonic_cst": signs}, {"max_influence": 1e30}, {"monotonic_cst": signs, "max_influence": 1e30},
        {"max_influence": {"dict": [[names, 1e30]]}}, {"interaction_cst": [[f"x{i}"] for i in range(columns)]},
        {"interaction_cst": [[f"x{i}" for i in range(columns)]]},
        {"max_influence": {"dict": [[{"tuple": pair}, 1e30] for pair in pairs]}}, {"interaction_cst": pairs or None},
    ][counts["promise"]]  # fmt: skip
    return {**kept, **more}


def _matrices(
    rng: np.random.Generator, header: dict[str, Any], counts: Counts, kind: str, steps: int
) -> np.ndarray[Any, Any]:
    """Columns of one pencil that rise by semidefinite steps, or bend upwards, and the steps of its outputs."""
    size = counts["dim"] * (counts["dim"] + 1) // 2
    parts = [np.zeros((1, size))]
    for column in header["columns"]:
        missing = np.zeros((int(column.get("missing", False)), size))
        if column["kind"] == "category":
            parts.append(_steps(rng, counts, len(column["levels"])))
            continue
        own = _steps(rng, counts, 1 if column["kind"] == "linear" else len(column["knots"]))
        own = own if column["kind"] == "linear" else own.cumsum(axis=0)
        parts += [own.cumsum(axis=0) if kind == "convex" else own, missing]
    if steps:
        parts.append(_steps(rng, counts, steps).cumsum(axis=0))
    return np.concatenate(parts)


def _steps(rng: np.random.Generator, counts: Counts, number: int) -> np.ndarray[Any, Any]:
    """Semidefinite matrices of a rank, (number, D), whose entries spread over so many powers of two, row by row."""
    dim, rank = counts["dim"], min(counts["rank"], counts["dim"])
    rows, cols = np.tril_indices(dim)
    factor = rng.integers(-9, 10, (number, dim, max(rank, 1))).astype(float)
    factor *= np.ldexp(1.0, -rng.integers(0, counts["spread"] // 2 + 1, (number, dim, 1)))
    full = factor @ factor.transpose(0, 2, 1) if rank else np.zeros((number, dim, dim))
    return np.asarray(np.where(rows == cols, 1.0, np.sqrt(2)) * full[:, rows, cols])

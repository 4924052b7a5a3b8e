"""A fitted model ⇄ header and tensors: what is read becomes a model only after everything in it was checked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lambdak._checks import FloatArray
from lambdak.eigen.packing import packed_size, padded_width
from lambdak.eigen.runtime import MAX_THREADS
from lambdak.losses import Loss, Ordinal, Pinball, SoftmaxLog
from lambdak.model.fitted import FittedModel
from lambdak.store._columns import decode_encoder, encode_columns, encode_encoder
from lambdak.store._fields import ModelFileError, damaged, fields, items, number, shown, text, whole
from lambdak.store._losses import LOSSES, decode_classes, decode_loss, encode_classes, encode_loss
from lambdak.store._promises import check_bend, check_order, check_rise
from lambdak.store._tensors import CHECKSUM, Form, Tensors, digest
from lambdak.store._values import decode, encode
from lambdak.table.constraints import monotone_signs
from lambdak.table.encoder import TableEncoder

FORMAT = 1
_FIELDS = (
    "format", "lambdak", CHECKSUM, "estimator", "parameters", "encoder", "columns", "loss", "classes", "dim", "indices",
    "members", "scale", "dtype", "n_iter",
)  # fmt: skip
_MOST_DIM, _MOST_MEMBERS = 128, 64
_MOST_SIZE = 1e24  # of all matrices together, so that no sum over them leaves the range of float32

Classes = Mapping[str, type[FittedModel]]


def describe(model: FittedModel) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors of a fitted model; one that could not be loaded again is refused."""
    check_is_fitted(model, "coef_")
    name = type(model).__name__
    if name not in LOSSES:
        raise TypeError(f"a model file holds one of {sorted(LOSSES)}; got {name}: pickle it, or save its parts")
    header = _header(model, name)
    coef = np.ascontiguousarray(model.coef_[..., : packed_size(model.dim_)])
    start, weights = np.asarray(model.start_, np.float64), np.asarray(model.weights_, np.float64)
    tensors: Tensors = {"coef": coef, "start": start, "weights": weights}
    header[CHECKSUM] = digest(header, tensors)
    try:
        Blueprint.read(header, {name: type(model)}).build(tensors)
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved, because no one could load it: {error}") from None
    return header, tensors


def _header(model: FittedModel, name: str) -> dict[str, Any]:
    parameters = {key: encode(_kept(value), key) for key, value in model.get_params(deep=False).items()}
    return {
        "format": FORMAT,
        "lambdak": version("lambdak"),
        "estimator": name,
        "parameters": parameters,
        "encoder": encode_encoder(model.encoder_),
        "columns": encode_columns(model.encoder_),
        "loss": encode_loss(model.loss_),
        "classes": encode_classes(getattr(model, "classes_", None)),
        "dim": model.dim_,
        "indices": list(model.indices_),
        "members": len(model.weights_),
        "scale": float(model.scale_),
        "dtype": model.coef_.dtype.name,
        "n_iter": getattr(model, "n_iter_", 0),
    }


def _kept(value: Any) -> Any:
    """A parameter as it is kept: a source of randomness has no lasting value."""
    return None if isinstance(value, np.random.RandomState | np.random.Generator) else value


@dataclass(frozen=True)
class Blueprint:
    """All that the header of a model says, checked; with the tensors it names it becomes the model."""

    estimator: type[FittedModel]
    parameters: dict[str, Any]
    encoder: TableEncoder
    loss: Loss
    classes: NDArray[Any] | None
    dim: int
    indices: tuple[int, ...]
    members: int
    scale: float
    dtype: np.dtype[np.floating]
    n_iter: int

    @classmethod
    def read(cls, header: dict[str, Any], classes: Classes) -> Blueprint:
        """Check the header of a model."""
        check_format(header)
        fields(header, "the header", _FIELDS)
        name = text(header["estimator"], "estimator")
        if name not in LOSSES or name not in classes:
            raise damaged(f"estimator must be one of {sorted(classes)}; got {shown(name)}")
        parameters = _decode_parameters(header, classes[name])
        loss = decode_loss(header["loss"], name)
        dim = whole(header["dim"], "dim", 1, _MOST_DIM + 1)
        scale = number(header["scale"], "scale")
        if scale <= 0 or header["dtype"] not in ("float32", "float64"):
            raise damaged("scale must be positive, and dtype float32 or float64")
        return cls(
            estimator=classes[name],
            parameters=parameters,
            encoder=decode_encoder(header, parameters.get("categorical_features")),
            loss=loss,
            classes=decode_classes(header["classes"], loss),
            dim=dim,
            indices=_decode_indices(header["indices"], loss, dim),
            members=whole(header["members"], "members", 1, _MOST_MEMBERS + 1),
            scale=scale,
            dtype=np.dtype(header["dtype"]),
            n_iter=whole(header["n_iter"], "n_iter", 0, 1 << 63),
        )

    @property
    def neurons(self) -> int:
        """Pencils of a member: one per class of several, otherwise one."""
        return _neurons(self.loss)

    @property
    def levels(self) -> tuple[float, ...]:
        """Quantile levels that one model predicts."""
        return self.loss.quantiles if isinstance(self.loss, Pinball) else ()

    @property
    def forms(self) -> dict[str, Form]:
        """The tensors that belong to it."""
        shape = (self.members * self.neurons, self.encoder.n_design + len(self.levels), packed_size(self.dim))
        wide = np.dtype(np.float64)
        return {
            "coef": Form(self.dtype, shape),
            "start": Form(wide, (self.loss.n_outputs,)),
            "weights": Form(wide, (self.members,)),
        }

    def build(self, tensors: Tensors) -> FittedModel:
        """The model, after a look at every number and at what it promises."""
        self._check_tensors(tensors)
        self._check_promises(tensors["coef"])
        model = self.estimator(**self.parameters)
        model.encoder_, model.loss_, model.levels_ = self.encoder, self.loss, self.levels
        model.coef_, model.start_ = _padded(tensors["coef"]), tensors["start"]
        model.weights_ = np.asarray(tensors["weights"], np.float64)
        model.dim_, model.indices_, model.neurons_, model.scale_ = self.dim, self.indices, self.neurons, self.scale
        model.theta_ = []  # nothing from which training could go on
        extra: dict[str, Any] = {"n_features_in_": self.encoder.n_features, "n_iter_": self.n_iter}
        if self.encoder.from_names:
            extra["feature_names_in_"] = np.asarray(self.encoder.feature_names, dtype=object)
        if self.classes is not None:
            extra["classes_"] = self.classes
        model.__dict__.update(extra)
        return model

    def _check_tensors(self, tensors: Tensors) -> None:
        for name, array in tensors.items():
            if not np.isfinite(array).all():
                raise damaged(f"tensor {name!r} must be finite")
        weights, size = tensors["weights"], float(np.abs(tensors["coef"]).sum(dtype=np.float64))
        if (weights <= 0).any() or abs(weights.sum() - 1) > 1e-9:
            raise damaged("weights must be positive and sum to 1")
        with np.errstate(over="ignore"):
            reach = np.abs(tensors["start"]).max() + np.float64(self.scale) * size
        if size > _MOST_SIZE or not np.isfinite(reach):
            raise damaged("its matrices are too large to compute with")

    def _check_promises(self, coef: FloatArray) -> None:
        columns, shape = self.encoder.columns, self.parameters.get("shape")
        flip = -1 if isinstance(self.loss, Ordinal) else 1  # a larger cut-score means a smaller class
        for i, sign in _signs(self.parameters.get("monotonic_cst"), self.encoder).items():
            check_rise(columns[i], flip * sign, coef, self.dim)
        if self.levels:
            check_order(self.encoder, coef, self.dim)
        known = shape is None or (isinstance(shape, str) and shape in ("convex", "concave"))
        if not known or self.encoder.clamp != (shape is None):
            raise damaged(f"shape must be what the model was fitted with; got {shown(shape)}")
        if shape is not None and len(self.indices) == 1:
            if self.indices[0] != (self.dim - 1 if shape == "convex" else 0):
                raise damaged(f"indices must be the end of the spectrum that shape={shape!r} takes")
            for column in columns:
                check_bend(column, 1 if shape == "convex" else -1, coef, self.dim)


def check_format(header: dict[str, Any]) -> None:
    """Refuse files of a later format before anything else is looked at."""
    found = whole(header.get("format"), "format", 0, 1 << 31)
    if found > FORMAT:
        raise ModelFileError(
            f"it has format {found}, and this lambdak {version('lambdak')} reads up to {FORMAT}: upgrade lambdak"
        )
    if found < 1:
        raise damaged(f"format must be at least 1; got {found}")
    for name in ("lambdak", CHECKSUM):
        text(header.get(name), name)


def _decode_parameters(header: dict[str, Any], estimator: type[FittedModel]) -> dict[str, Any]:
    """The settings; one that a file does not have, because it is older, has its default."""
    known = inspect.signature(estimator).parameters
    value = header["parameters"]
    if not isinstance(value, dict):
        raise damaged(f"parameters must be an object; got {shown(value)}")
    for name in value:
        if name not in known:
            raise ModelFileError(
                f"it has a parameter {shown(name)} that this lambdak {version('lambdak')} does not know; it was saved "
                f"by lambdak {shown(header['lambdak'])}: upgrade lambdak"
            )
    parameters = {name: decode(item, name) for name, item in value.items()}
    n_jobs = parameters.get("n_jobs")
    if n_jobs is not None and whole(n_jobs, "n_jobs", -MAX_THREADS, MAX_THREADS + 1) == 0:
        raise damaged("n_jobs must not be 0")
    return parameters


def _decode_indices(value: Any, loss: Loss, dim: int) -> tuple[int, ...]:
    """Increasing eigenvalue indices: one, or one per output where the outputs are eigenvalues of one pencil."""
    wanted = loss.n_outputs if isinstance(loss, Ordinal) else 1
    indices = tuple(whole(index, "indices", 0, dim) for index in items(value, "indices", wanted, wanted))
    if any(low >= high for low, high in pairwise(indices)):
        raise damaged(f"indices must increase; got {list(indices)}")
    return indices


def _neurons(loss: Loss) -> int:
    return loss.n_classes if isinstance(loss, SoftmaxLog) else 1


def _signs(monotonic_cst: Any, encoder: TableEncoder) -> dict[int, int]:
    try:
        return monotone_signs(monotonic_cst, encoder.columns)
    except (TypeError, ValueError) as error:
        raise damaged(str(error)) from None


def _padded(coef: FloatArray) -> FloatArray:
    """The coefficients with rows of whole vectors, as the kernel reads them."""
    models, design, width = coef.shape
    result = np.zeros((models, design, padded_width(width)), coef.dtype)
    result[..., :width] = coef
    return result

"""A fitted model ⇄ header and tensors: what is read becomes a model only after everything in it was checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import packed_size, padded_width
from lambdak.eigen.runtime import MAX_THREADS
from lambdak.losses import Arrangement, Loss, Predicts
from lambdak.model import Model, Outputs, Promises
from lambdak.model.known_target import KnownTarget
from lambdak.model.model import MAX_DIM, MAX_MEMBERS
from lambdak.model.outputs import outputs_of
from lambdak.pencil.tolerances import WEIGHTS_TOL
from lambdak.shapes.requested import straight_columns
from lambdak.store._calibration import FIELD as _CALIBRATION
from lambdak.store._calibration import CalibrationBlueprint, describe_calibration
from lambdak.store._columns import decode_encoder, encode_columns, encode_encoder
from lambdak.store._fields import ModelFileError, damaged, fields, invalid, items, number, shown, text, whole
from lambdak.store._losses import ESTIMATORS, decode_classes, decode_loss, encode_classes, encode_loss
from lambdak.store._promises import check_promises, widened
from lambdak.store._target import decode_target, encode_target
from lambdak.store._tensors import CHECKSUM, Form, Tensors, digest, floating
from lambdak.store._training import SavedTraining, TrainingBlueprint, describe_training
from lambdak.store._values import decode, encode
from lambdak.table.encoder import TableEncoder

# In the first, promises held to rounding only; the third is the second with what training needs; since the fourth, in
# which that may be missing, a file holds what is known of the target; the fifth has constraints, the sixth times to an
# event; the seventh says of columns of numbers whether they are whole, and where their quartiles are; the eighth has
# the calibration of quantiles.
FORMAT = 8
_TRAINED, _UNCALIBRATED = 3, 7
_FIELDS = (
    "format", "lambdak", CHECKSUM, "estimator", "parameters", "encoder", "columns", "loss", "classes", "dim", "indices",
    "members", "scale", "dtype", "n_iter",
)  # fmt: skip
_LATER = "constraints"  # a parameter that files have where it is not None, since format 5
_LATEST = "calibrate_by"  # as well, since format 8
_TARGET, _TRAINING = "target", "training"
_LEAST_SCALE = 2.0**-1010  # below, products with it lose digits
_MOST_SIZE = 1e24  # of all matrices together, so that no sum over them leaves the range of float32

# The parameters of each estimator that a file may hold; None where they do not matter, because nothing is fitted again.
Known = Mapping[str, Collection[str]] | None


class SavedModel(NamedTuple):
    """What a file holds: a model, the parameters of its estimator at the time of the fit, and the epochs it took.

    ``training`` is what training needs to continue, if it was to be saved; ``target`` what is known of the target.
    """

    model: Model
    parameters: dict[str, Any]
    n_iter: int
    training: SavedTraining | None = None
    target: KnownTarget = KnownTarget()


def describe(saved: SavedModel) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors of a model; one that could not be loaded again is refused."""
    model = saved.model
    if model.estimator not in ESTIMATORS:
        names = sorted(ESTIMATORS)
        raise TypeError(f"a model file holds one of {names}; got {model.estimator}: pickle it, or save its parts")
    header = _header(saved)
    tensors: Tensors = {
        "coef": np.ascontiguousarray(model.matrices, model.stored_dtype),
        "start": np.asarray(model.start, np.float64),
        "weights": np.asarray(model.weights, np.float64),
    }
    if saved.training is not None:
        header[_TRAINING], arrays = describe_training(saved.training)
        tensors |= arrays
    if model.calibration is not None:
        header[_CALIBRATION], arrays = describe_calibration(model.calibration)
        tensors |= arrays
    header[CHECKSUM] = digest(header, tensors)
    try:
        again = Blueprint.read(header, {model.estimator: saved.parameters}).build(tensors).model
        if again.promises != model.promises:  # a loaded certificate would call requested what was not
            raise damaged("its parameters promise something else than it was fitted with")
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved, because no one could load it: {error}") from None
    return header, tensors


def _header(saved: SavedModel) -> dict[str, Any]:
    model = saved.model
    return {
        "format": FORMAT,
        "lambdak": version("lambdak"),
        "estimator": model.estimator,
        "parameters": {
            key: encode(_kept(value), key)
            for key, value in _settled(saved).items()
            if key not in (_LATER, _LATEST) or value is not None  # so that files without it are what they were
        },
        "encoder": encode_encoder(model.encoder),
        "columns": encode_columns(model.encoder),
        "loss": encode_loss(model.loss),
        "classes": encode_classes(model.classes),
        "dim": model.dim,
        "indices": list(model.outputs.indices),
        "members": len(model.weights),
        "scale": float(model.scale),
        "dtype": model.stored_dtype.name,
        "n_iter": saved.n_iter,
        _TARGET: encode_target(saved.target),
    }


def _settled(saved: SavedModel) -> dict[str, Any]:
    """Return the parameters with shapes as the model promises them, with all that training chose."""
    constraints = saved.parameters.get(_LATER)
    if not constraints:
        return saved.parameters
    return saved.parameters | {_LATER: saved.model.promises.as_settled(constraints, saved.model.encoder.columns)}


def _kept(value: Any) -> Any:
    """A parameter as it is kept: a source of randomness has no lasting value."""
    return None if isinstance(value, np.random.RandomState | np.random.Generator) else value


@dataclass(frozen=True)
class Blueprint:
    """All that the header of a model says, checked; with the tensors that it names it becomes the model."""

    format: int
    estimator: str
    parameters: dict[str, Any]
    encoder: TableEncoder
    loss: Loss
    classes: NDArray[Any] | None
    dim: int
    outputs: Outputs
    promises: Promises
    members: int
    scale: float
    dtype: np.dtype[np.floating]
    n_iter: int
    training: TrainingBlueprint | None
    target: KnownTarget
    calibration: CalibrationBlueprint | None

    @classmethod
    def read(cls, header: dict[str, Any], known: Known) -> Blueprint:
        """Check the header of a model."""
        check_format(header)
        trained, described = _holds(header)
        calibrated = header["format"] > _UNCALIBRATED and _CALIBRATION in header
        beside = compress((_TRAINING, _TARGET, _CALIBRATION), (trained, described, calibrated))
        fields(header, "the header", (*_FIELDS, *beside))
        name = text(header["estimator"], "estimator")
        if name not in ESTIMATORS or (known is not None and name not in known):
            raise damaged(f"estimator must be one of {sorted(known or ESTIMATORS)}; got {shown(name)}")
        parameters = _decode_parameters(header, None if known is None else known[name])
        loss = decode_loss(header["loss"], name)
        dim = whole(header["dim"], "dim", 1, MAX_DIM + 1)
        scale = number(header["scale"], "scale")
        if scale < _LEAST_SCALE:
            raise damaged(f"scale must be at least {_LEAST_SCALE:.1g}; got {scale}")
        _check_settings(parameters, loss, dim)
        encoder = decode_encoder(header, parameters.get("categorical_features"), _straight(parameters))
        promises = _promises(encoder, parameters)
        return cls(
            format=header["format"],
            estimator=name,
            parameters=parameters,
            encoder=encoder,
            loss=_limited(loss, promises),
            classes=decode_classes(header["classes"], loss),
            dim=dim,
            outputs=outputs_of(loss, _decode_indices(header["indices"], loss, dim)),
            promises=promises,
            members=whole(header["members"], "members", 1, MAX_MEMBERS + 1),
            scale=scale,
            dtype=floating(header["dtype"], "dtype"),
            n_iter=whole(header["n_iter"], "n_iter", 0, 1 << 63),
            training=TrainingBlueprint.read(header[_TRAINING]) if trained else None,
            target=decode_target(header[_TARGET], loss) if described else KnownTarget(),
            calibration=CalibrationBlueprint.read(header[_CALIBRATION], loss, encoder, promises)
            if calibrated
            else None,
        )

    @property
    def forms(self) -> dict[str, Form]:
        """The tensors that belong to it."""
        design = self.encoder.n_design + len(self.outputs.levels)
        shape = (self.members * self.outputs.pencils, design, packed_size(self.dim))
        wide = np.dtype(np.float64)
        return {
            "coef": Form(self.dtype, shape),
            "start": Form(wide, (self.loss.n_outputs,)),
            "weights": Form(wide, (self.members,)),
            **({} if self.training is None else self.training.forms),
            **({} if self.calibration is None else self.calibration.forms),
        }

    def build(self, tensors: Tensors) -> SavedModel:
        """The model, after a check of every number and of what it promises."""
        self._check_tensors(tensors)
        model = Model(
            estimator=self.estimator,
            encoder=self.encoder,
            coef=_padded(tensors["coef"]),
            dim=self.dim,
            weights=np.asarray(tensors["weights"], np.float64),
            loss=self.loss,
            outputs=self.outputs,
            start=np.asarray(tensors["start"], np.float64),
            scale=self.scale,
            promises=self.promises,
            classes=self.classes,
            calibration=None if self.calibration is None else self.calibration.build(tensors),
        )
        if self.format == 1:
            model = widened(model)
        check_promises(model)
        training = None if self.training is None else self.training.build(tensors)
        return SavedModel(model, _as_given(self.parameters), self.n_iter, training, self.target)

    def _check_tensors(self, tensors: Tensors) -> None:
        for name, array in tensors.items():
            if not np.isfinite(array).all():
                raise damaged(f"tensor {name!r} must be finite")
        weights, size = tensors["weights"], float(np.abs(tensors["coef"]).sum(dtype=np.float64))
        if (weights <= 0).any() or abs(weights.sum() - 1) > WEIGHTS_TOL:
            raise damaged("weights must be positive and sum to 1")
        with np.errstate(over="ignore"):
            reach = np.abs(tensors["start"]).max() + np.float64(self.scale) * size
        if size > _MOST_SIZE or not np.isfinite(reach):
            raise damaged("its matrices are too large to compute with")


def check_format(header: dict[str, Any]) -> None:
    """Refuse files of a later format before anything else is looked at."""
    number = whole(header.get("format"), "format", 0, 1 << 31)
    if number > FORMAT:
        raise ModelFileError(
            f"it has format {number}, and this lambdak {version('lambdak')} reads up to {FORMAT}: upgrade lambdak"
        )
    if number < 1:
        raise damaged(f"format must be at least 1; got {number}")
    for name in ("lambdak", CHECKSUM):
        text(header.get(name), name)


def _holds(header: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a file of its format has what training needs, and what is known of the target."""
    described = header["format"] > _TRAINED
    return _TRAINING in header if described else header["format"] == _TRAINED, described


def _decode_parameters(header: dict[str, Any], known: Collection[str] | None) -> dict[str, Any]:
    """The settings; one that a file does not have, because it is older, has its default."""
    value = header["parameters"]
    if not isinstance(value, dict):
        raise damaged(f"parameters must be an object; got {shown(value)}")
    for name in value:
        if known is not None and name not in known:
            raise ModelFileError(
                f"it has a parameter {shown(name)} that this lambdak {version('lambdak')} does not know; it was saved "
                f"by lambdak {shown(header['lambdak'])}: upgrade lambdak"
            )
    parameters = {name: decode(item, name) for name, item in value.items()}
    n_jobs = parameters.get("n_jobs")
    if n_jobs is not None and whole(n_jobs, "n_jobs", -MAX_THREADS, MAX_THREADS + 1) == 0:
        raise damaged("n_jobs must not be 0")
    return parameters


def _check_settings(parameters: dict[str, Any], loss: Loss, dim: int) -> None:
    """Settings that the model itself repeats must say the same."""
    repeated = {name: _plain(parameters.get(name)) for name in ("quantiles", "loss", "dim")}
    levels = list(loss.quantile_levels) if loss.predicts is Predicts.QUANTILES else repeated["quantiles"]
    same = {"quantiles": (levels,), "loss": (loss.name, "tweedie"), "dim": (dim,)}
    for name, allowed in same.items():
        # Arrays do not compare as a whole, but as they read.
        if repeated[name] is not None and repr(repeated[name]) not in map(repr, allowed):
            raise damaged(f"{name} of the parameters must be those of the model; got {shown(repeated[name])}")


def _plain(value: Any) -> Any:
    """A setting as plain data: a tuple or an array is a list."""
    return value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value


def _decode_indices(value: Any, loss: Loss, dim: int) -> tuple[int, ...]:
    """One eigenvalue index; of cut-points that were saved before, increasing ones, one for each."""
    several = loss.arrangement is Arrangement.ORDERED and isinstance(value, list) and len(value) > 1
    wanted = loss.n_outputs if several else 1
    indices = tuple(whole(index, "indices", 0, dim) for index in items(value, "indices", wanted, wanted))
    if any(low >= high for low, high in pairwise(indices)):
        raise damaged(f"indices must increase; got {list(indices)}")
    return indices


def _promises(encoder: TableEncoder, parameters: dict[str, Any]) -> Promises:
    names = ("monotonic_cst", "max_influence", "shape", "interaction_cst", "constraints")
    requested = (parameters.get(name) for name in names)
    try:
        return Promises.requested(encoder.columns, *requested)
    except (TypeError, ValueError) as error:
        raise invalid(error) from None


def _as_given(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with shapes as the user gave them, without what training chose."""
    constraints = parameters.get(_LATER)
    if not constraints:
        return parameters
    return parameters | {_LATER: type(constraints)(own.requested() for own in constraints)}


def _limited(loss: Loss, promises: Promises) -> Loss:
    """The loss, with predictions in the range that was requested of them."""
    try:
        return promises.limited(loss)
    except ValueError as error:
        raise invalid(error) from None


def _straight(parameters: dict[str, Any]) -> tuple[str | int, ...]:
    try:
        return straight_columns(parameters.get(_LATER))
    except TypeError as error:
        raise invalid(error) from None


def _padded(coef: FloatArray) -> Float64Array:
    """The coefficients with rows of whole vectors, as the kernel reads them."""
    models, design, width = coef.shape
    result = np.zeros((models, design, padded_width(width)))
    result[..., :width] = coef
    return result

"""Estimators, and pipelines of scikit-learn that end with one, to a file and back.

The file of a pipeline is a ZIP archive of two files that are stored as they are: ``steps.skops``, all steps but the
last as skops writes them, and ``model.safetensors``, the last step as ``model.save`` does. So the model is checked like
any other, and skops builds only types that it, or the caller, trusts.
"""

from __future__ import annotations

import copy
import inspect
import os
import reprlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, final

from sklearn.pipeline import Pipeline

from lambdak import estimators
from lambdak.atomic import regular_file, write_bytes
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.pipeline_contents import check_contents, check_stored
from lambdak.store import ModelFileError, SavedModel, load_model, model_bytes, model_from_bytes, model_from_json
from lambdak.store._losses import ESTIMATORS
from lambdak.table.visible import warn_user

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey


_STEPS, _MODEL = "steps.skops", "model.safetensors"
_MAGIC = b"PK\x03\x04"
_DATE = (1980, 1, 1, 0, 0, 0)  # of both files: the earliest that an archive knows
# What skops does not know to be safe: ours only reads columns, and a dtype (of a SimpleImputer) only names a type.
_SAFE = ("lambdak.estimators.dates.DateExpander", "numpy.dtype")
_INSTEAD = "passthrough"  # of the last step, which has its own file


@final
@dataclass(frozen=True)
class PipelineFile:
    """The two parts of a file: the steps as skops writes them, and the model of the last step."""

    steps: bytes
    model: bytes

    @classmethod
    def of(cls, pipeline: Pipeline, model: bytes) -> PipelineFile:
        """A fitted pipeline, and the bytes of its last step."""
        without = copy.copy(pipeline)
        without.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], _INSTEAD)]
        file = cls(_skops().dumps(without), model)
        unknown = file.untrusted()
        file._check_readable(unknown)
        if unknown:
            warn_user(
                f"load will refuse the steps {unknown}, which are not known to be safe, unless it is called with "
                f"trusted={unknown}"
            )
        return file

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PipelineFile:
        """The parts of a file; its length bounds the memory that they take, then and when they are built."""
        try:
            with regular_file(path) as (file, length), zipfile.ZipFile(file) as archive:
                if archive.namelist() != [_STEPS, _MODEL]:
                    names = reprlib.repr(archive.namelist())
                    raise ModelFileError(f"a pipeline must hold {_STEPS} and {_MODEL}; it holds {names}")
                check_stored(archive, length)
                parts = cls(archive.read(_STEPS), archive.read(_MODEL))
            check_contents(parts.steps)
        except ModelFileError:
            raise
        except Exception as error:  # of archives, compressed data, JSON or headers of arrays
            raise ModelFileError(f"it is damaged: {type(error).__name__}: {error}: save the pipeline again") from None
        return parts

    def untrusted(self, trusted: Sequence[str] = ()) -> list[str]:
        """Types in the steps that neither skops nor the caller trusts."""
        return sorted(set(_skops().get_untrusted_types(data=self.steps)) - {*trusted, *_SAFE})

    def _check_readable(self, trusted: Sequence[str]) -> None:
        """Refuse steps that nobody could load again, such as a lambda, which has no name to find it by."""
        try:
            check_contents(self.steps)
            _skops().loads(self.steps, trusted=[*trusted, *_SAFE])
        except Exception as error:  # whatever skops, or a step, makes of it
            raise TypeError(
                f"the steps of the pipeline cannot be read again without pickle: {type(error).__name__}: {error}: give "
                "functions that have a name in a module, no lambda, and types that skops can write"
            ) from error

    def to_bytes(self) -> bytes:
        """Bytes of the archive: the steps before the model, and the model."""
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, data in ((_STEPS, self.steps), (_MODEL, self.model)):
                archive.writestr(zipfile.ZipInfo(name, _DATE), data)
        return file.getvalue()

    def pipeline(self, model: Any, trusted: Sequence[str]) -> Pipeline:
        """The pipeline with this model as its last step; types that are not ``trusted`` are refused, not built."""
        skops = _skops()
        try:
            unknown = self.untrusted(trusted)
            if unknown:
                raise ModelFileError(
                    f"its steps hold types that are not known to be safe: {unknown}: if you trust them and whoever "
                    f"wrote the file, pass trusted={unknown} to load"
                )
            pipeline = skops.loads(self.steps, trusted=[*trusted, *_SAFE])
        except ModelFileError:
            raise
        except Exception as error:  # whatever skops meets in a file that it did not write
            raise ModelFileError(f"its steps cannot be read: {type(error).__name__}: {error}") from None
        if not isinstance(pipeline, Pipeline) or not _ends_with_a_gap(pipeline.steps):
            raise ModelFileError("its steps must be those of a Pipeline")
        pipeline.steps[-1] = (pipeline.steps[-1][0], model)
        return pipeline


def pipeline_types(model: Any) -> list[str]:
    """Return the types in an estimator or a Pipeline, as skops writes it, that are of this library or known as safe."""
    unknown = _skops().get_untrusted_types(data=_skops().dumps(model))
    return sorted(name for name in unknown if name in _SAFE or name.startswith("lambdak."))


def _ends_with_a_gap(steps: Any) -> bool:
    """Whether they are pairs of a name and a step, all names different, and the last step has its own file."""
    if not isinstance(steps, list) or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        return False
    names = [name for name, _ in steps]
    unique = all(isinstance(name, str) for name in names) and len({*names}) == len(names)
    return bool(steps) and unique and isinstance(steps[-1][1], str) and steps[-1][1] == _INSTEAD


def is_pipeline_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as an archive does."""
    try:
        with regular_file(path) as (file, _):
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:  # which reading it as a model names
        return False


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("a Pipeline is saved with skops: pip install 'lambdak[pipeline]'") from error
    return skops.io


def save(model: Any, path: str | os.PathLike[str], *, training_state: bool = False) -> None:
    """Write a fitted estimator, or a Pipeline that ends with one, to one file without pickle; :func:`load` reads it.

    An estimator is written as its own method ``save`` does. A Pipeline needs the library skops
    (``pip install 'lambdak[pipeline]'``), which writes the steps before the last.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from lambdak import SpectralRegressor
    >>> X, y = [[float(i), float(i % 3)] for i in range(60)], [float(i % 7) for i in range(60)]
    >>> pipeline = make_pipeline(StandardScaler(), SpectralRegressor(effort="fast", max_iter=2, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(pipeline.fit(X, y), f"{folder}/pipeline.skops")
    ...     bool((load(f"{folder}/pipeline.skops").predict(X) == pipeline.predict(X)).all())
    True
    """
    last = last_step(model)
    data = model_bytes(last._saved(training_state))
    write_bytes(path, data if last is model else PipelineFile.of(model, data).to_bytes())


def last_step(model: Any) -> SpectralEstimator:
    """Return the estimator that a Pipeline ends with, or the estimator itself; anything else is refused."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model
    if not isinstance(last, SpectralEstimator):
        raise TypeError(
            f"save takes a lambdak estimator, or a Pipeline whose last step is one; got {_described(model, last)}: "
            "of a search save its best_estimator_, of a meta-estimator the lambdak model inside of it"
        )
    return last


def load(path: str | os.PathLike[str], *, public_key: PublicKey | None = None, trusted: Sequence[str] = ()) -> Any:
    """The model that ``model.save(path)``, or :func:`save`, wrote: it predicts the same, bit for bit.

    Nothing in a file can run, and everything is checked before use, within memory that the length of the file bounds.
    One that is cut, changed, of a later format or invalid raises :class:`lambdak.store.ModelFileError`, a ValueError.

    With a ``public_key``, the path of a PEM file, a file that is not signed with this key, or has changed since, is
    refused with a :class:`lambdak.store.SignatureError`. Without one, a signature is ignored.

    In the file of a Pipeline, types that skops does not know to be safe are refused, unless ``trusted`` names them.
    """
    what = f"cannot load {os.fspath(path)!r}"
    if isinstance(trusted, str) or not isinstance(trusted, Sequence):
        raise TypeError(f"trusted must be a list of names of types, such as ['numpy.dtype']; got {trusted!r}")
    if not is_pipeline_file(path):
        return _estimator(load_model(path, _parameters(), public_key), what)
    if public_key is not None:
        raise ValueError(f"{what}: the file of a Pipeline has no signature: sign the file of its last step alone")
    try:
        file = PipelineFile.read(path)
        return file.pipeline(_estimator(model_from_bytes(file.model, _parameters()), "its last step"), trusted)
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from None


def from_json(text: str) -> Any:
    """The model that ``model.to_json()`` wrote: it predicts the same, and is checked as strictly as a file."""
    return _estimator(model_from_json(text, _parameters()), "cannot read a model from this text")


def _kinds() -> dict[str, type[SpectralEstimator]]:
    """Return the classes of estimators that a file may hold, by name."""
    return {name: getattr(estimators, name) for name in ESTIMATORS}


def _parameters() -> dict[str, frozenset[str]]:
    """Return the parameters of each estimator that a file may hold."""
    return {name: frozenset(inspect.signature(kind).parameters) for name, kind in _kinds().items()}


def _estimator(saved: SavedModel, what: str) -> Any:
    """Return the estimator that was saved; ``what`` begins the message if its training state is damaged."""
    try:
        return _kinds()[saved.model.estimator]._of_saved(saved)
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from None


def _described(model: object, last: object) -> str:
    """What was to be saved instead."""
    return type(model).__name__ if last is model else f"a Pipeline whose last step is {type(last).__name__}"

"""A scikit-learn Pipeline that ends with an estimator of ours, as one file without pickle.

The file is a ZIP archive of two files that are stored as they are: ``steps.skops``, all steps but the last as skops
writes them, and ``model.safetensors``, the last step as ``model.save`` does. So the model is checked like any other,
and skops builds only types that it, or the caller, trusts.
"""

from __future__ import annotations

import copy
import os
import reprlib
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, final

from sklearn.pipeline import Pipeline

from lambdak.atomic import regular_file
from lambdak.estimators.pipeline_contents import check_contents, check_stored
from lambdak.store import ModelFileError

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
            warnings.warn(
                f"load will refuse the steps {unknown}, which are not known to be safe, unless it is called with "
                f"trusted={unknown}",
                UserWarning,
                stacklevel=3,
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
        """The archive."""
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

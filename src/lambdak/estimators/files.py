"""Estimators, and pipelines that end with one, to a file and back."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from sklearn.pipeline import Pipeline

from lambdak.atomic import write_bytes
from lambdak.estimators.classifiers import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.estimators.pipelines import PipelineFile, is_pipeline_file
from lambdak.estimators.quantile_regressor import SpectralQuantileRegressor
from lambdak.estimators.regressors import SpectralRegressor
from lambdak.store import ModelFileError, SavedModel, load_model, model_bytes, model_from_bytes, model_from_json

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey

Estimator = SpectralClassifier | SpectralOrdinalClassifier | SpectralQuantileRegressor | SpectralRegressor

_ESTIMATORS: dict[str, type[Estimator]] = {kind.__name__: kind for kind in get_args(Estimator)}
_KNOWN = {name: frozenset(inspect.signature(kind).parameters) for name, kind in _ESTIMATORS.items()}


def save(model: Any, path: str | os.PathLike[str], *, training_state: bool = False) -> None:
    """Write a fitted estimator, or a Pipeline that ends with one, to one file without pickle; :func:`load` reads it.

    An estimator is written as its own method ``save`` does. A Pipeline needs the library skops
    (``pip install 'lambdak[pipeline]'``), which writes the steps before the last.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = [[float(i), float(i % 3)] for i in range(60)], [float(i % 7) for i in range(60)]
    >>> pipeline = make_pipeline(StandardScaler(), SpectralRegressor(effort="fast", max_iter=2, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(pipeline.fit(X, y), f"{folder}/pipeline.skops")
    ...     bool((load(f"{folder}/pipeline.skops").predict(X) == pipeline.predict(X)).all())
    True
    """
    last = model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model
    if not isinstance(last, get_args(Estimator)):
        raise TypeError(
            f"save takes a lambdak estimator, or a Pipeline whose last step is one; got {_described(model, last)}: "
            "of a search save its best_estimator_, of a meta-estimator the lambdak model inside of it"
        )
    data = model_bytes(last._saved(training_state))
    write_bytes(path, data if last is model else PipelineFile.of(model, data).to_bytes())


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
        return _estimator(load_model(path, _KNOWN, public_key), what)
    if public_key is not None:
        raise ValueError(f"{what}: the file of a Pipeline has no signature: sign the file of its last step alone")
    try:
        file = PipelineFile.read(path)
        return file.pipeline(_estimator(model_from_bytes(file.model, _KNOWN), "its last step"), trusted)
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from None


def from_json(text: str) -> Estimator:
    """The model that ``model.to_json()`` wrote: it predicts the same, and is checked as strictly as a file."""
    return _estimator(model_from_json(text, _KNOWN), "cannot read a model from this text")


def _estimator(saved: SavedModel, what: str) -> Estimator:
    try:
        return _ESTIMATORS[saved.model.estimator]._of_saved(saved)
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from None


def _described(model: object, last: object) -> str:
    """What was to be saved instead."""
    return type(model).__name__ if last is model else f"a Pipeline whose last step is {type(last).__name__}"

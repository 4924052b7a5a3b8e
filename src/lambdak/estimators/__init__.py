"""The estimators by their public names: two regressors and two classifiers, on tables; and how they are loaded."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, get_args

from lambdak.estimators.classifiers import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.estimators.regressors import SpectralQuantileRegressor, SpectralRegressor
from lambdak.store import ModelFileError, SavedModel, load_model, model_from_json

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey

__all__ = [
    "SpectralClassifier",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "from_json",
    "load",
]

Estimator = SpectralClassifier | SpectralOrdinalClassifier | SpectralQuantileRegressor | SpectralRegressor

_ESTIMATORS: dict[str, type[Estimator]] = {kind.__name__: kind for kind in get_args(Estimator)}
_KNOWN = {name: frozenset(inspect.signature(kind).parameters) for name, kind in _ESTIMATORS.items()}


def load(path: str | os.PathLike[str], *, public_key: PublicKey | None = None) -> Estimator:
    """The model that ``model.save(path)`` wrote: it predicts the same, bit for bit.

    Nothing in a file can run, and everything is checked before use, within memory that the length of the file bounds.
    One that is cut, changed, of a later format or invalid raises :class:`lambdak.store.ModelFileError`, a ValueError.

    With a ``public_key``, the path of a PEM file, a file that is not signed with this key, or has changed since, is
    refused with a :class:`lambdak.store.SignatureError`. Without one, a signature is ignored.
    """
    return _estimator(load_model(path, _KNOWN, public_key), f"cannot load {os.fspath(path)!r}")


def from_json(text: str) -> Estimator:
    """The model that ``model.to_json()`` wrote: it predicts the same, and is checked as strictly as a file."""
    return _estimator(model_from_json(text, _KNOWN), "cannot read a model from this text")


def _estimator(saved: SavedModel, what: str) -> Estimator:
    try:
        return _ESTIMATORS[saved.model.estimator]._of_saved(saved)
    except ModelFileError as error:
        raise ModelFileError(f"{what}: {error}") from None

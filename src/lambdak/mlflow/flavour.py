"""The flavour of MLflow: a folder with the safetensors file, its signature, its certificate and its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow.pyfunc
from mlflow.artifacts import download_artifacts
from mlflow.models import Model

from lambdak.estimators.files import last_step, load, save
from lambdak.mlflow.schema import asked_method, signature_of, typical_rows

FLAVOUR = "lambdak"
_FILE, _CERTIFICATE, _WORDS, _REPORT = "model.safetensors", "certificate.json", "certificate.txt", "report.html"
_FOLDER = "model"  # of all these
_DATA = f"data/{_FOLDER}"  # where MLflow puts what belongs to a loader


class ModelWrapper:
    """A loaded model as a ``pyfunc``: ``predict(table, params={"method": "predict_proba"})``."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return what a method of the model says of a table, by default ``predict``."""
        return asked_method(self.model, params)(model_input)

    def get_raw_model(self) -> Any:
        """Return the estimator."""
        return self.model


def save_model(
    model: Any,
    path: str,
    *,
    signature: Any = None,
    input_example: Any = None,
    report: bool | Mapping[str, Any] = True,
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    mlflow_model: Model | None = None,
    **others: Any,
) -> None:
    """Write a fitted estimator, or a Pipeline that ends with one, to a new folder as MLflow reads it.

    Parameters
    ----------
    model
        It is written by :func:`lambdak.save`, without pickle.
    path
        A folder that does not exist yet.
    signature, input_example
        What the model takes and gives, and rows to try it with. By default they come from the model: all of its
        columns, numbers as doubles; of a Pipeline they come from an ``input_example``.
    report
        Arguments of :meth:`~lambdak.SpectralRegressor.report`, such as ``{"X_test": X_test, "y_test": y_test}``; True
        for a report without rows, False for none.
    pip_requirements
        By default this version of lambdak, and skops for a Pipeline.
    metadata, mlflow_model, others
        As in :func:`mlflow.pyfunc.save_model`.
    """
    last = last_step(model)
    example = typical_rows(last) if input_example is None and last is model else input_example
    made = Model() if mlflow_model is None else mlflow_model
    made.add_flavor(FLAVOUR, lambdak_version=version("lambdak"), data=f"{_DATA}/{_FILE}", estimator=type(last).__name__)
    with TemporaryDirectory() as folder:
        _write(model, last, Path(folder) / _FOLDER, report)
        mlflow.pyfunc.save_model(
            path=path, loader_module=__package__, data_path=str(Path(folder) / _FOLDER), mlflow_model=made,
            signature=signature_of(model, example) if signature is None else signature, input_example=example,
            pip_requirements=_requirements(last is not model) if pip_requirements is None else list(pip_requirements),
            metadata=None if metadata is None else dict(metadata), **others,
        )  # fmt: skip


def _write(model: Any, last: Any, folder: Path, report: bool | Mapping[str, Any]) -> None:
    """Write the model, what it guarantees, and its report."""
    folder.mkdir()
    save(model, folder / _FILE)
    certificate = last.certify()
    (folder / _CERTIFICATE).write_text(certificate.to_json(), encoding="utf-8")
    (folder / _WORDS).write_text(f"{certificate}\n", encoding="utf-8")
    if report is not False:
        last.report(folder / _REPORT, **({} if report is True else report))


def _requirements(is_pipeline: bool) -> list[str]:
    extra = "[pipeline]" if is_pipeline else ""
    return [f"lambdak{extra}=={version('lambdak')}"]


def log_model(
    model: Any,
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    **options: Any,
) -> Any:
    """Log a fitted estimator, or a Pipeline that ends with one, to MLflow, and return what MLflow says of it.

    Parameters
    ----------
    model
        It is written by :func:`lambdak.save`, without pickle.
    name
        Of the logged model.
    registered_model_name
        The name in the registry of models, if it belongs there.
    options
        Those of :func:`save_model`, and of :meth:`mlflow.models.Model.log`, such as ``tags`` and ``step``.
    """
    return Model.log(
        artifact_path=None, name=name, flavor=sys.modules["lambdak.mlflow"], model=model,
        registered_model_name=registered_model_name, **options,
    )  # fmt: skip


def load_model(model_uri: str, *, trusted: Sequence[str] = ()) -> Any:
    """Return the estimator that was logged, or saved to a folder; everything is checked, and nothing of it can run.

    ``trusted`` is as in :func:`lambdak.load`.
    """
    folder = Path(download_artifacts(artifact_uri=model_uri))
    data = Model.load(str(folder)).flavors.get(FLAVOUR)
    if data is None:
        raise ValueError(f"model_uri must be a model of the flavour {FLAVOUR!r}; got {model_uri!r}, which is none")
    return load(folder / data["data"], trusted=trusted)


def _load_pyfunc(path: str) -> ModelWrapper:
    """Return the model that MLflow serves; ``path`` is the folder of its files."""
    return ModelWrapper(load(Path(path) / _FILE))

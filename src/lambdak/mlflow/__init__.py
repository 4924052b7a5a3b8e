"""Models in MLflow: as safetensors files with what they take and give, their certificate and their report.

``import lambdak.mlflow`` needs ``pip install 'lambdak[mlflow]'``. A model, or a Pipeline that ends with one, is logged
with :func:`log_model`, loaded with :func:`load_model` or as a ``pyfunc``, and served by MLflow; nothing is pickled.

Modules: ``flavour`` saves and loads; ``schema`` what a model takes and gives; ``autologging`` settings and figures of
every fit; ``trust`` the types that skops asks for.
"""

from importlib.util import find_spec

if find_spec("mlflow") is None:
    raise ImportError("lambdak.mlflow needs MLflow: pip install 'lambdak[mlflow]', or mlflow itself")

from lambdak.mlflow.autologging import autolog
from lambdak.mlflow.flavour import FLAVOUR, ModelWrapper, load_model, log_model, save_model
from lambdak.mlflow.flavour import _load_pyfunc as _load_pyfunc  # which MLflow calls by this name
from lambdak.mlflow.schema import signature_of, typical_rows
from lambdak.mlflow.trust import trusted_types

__all__ = [
    "FLAVOUR",
    "ModelWrapper",
    "autolog",
    "load_model",
    "log_model",
    "save_model",
    "signature_of",
    "trusted_types",
    "typical_rows",
]

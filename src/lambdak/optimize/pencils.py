"""Pencils, and neurons that can be turned into one, as models of the columns z0, z1, …: what follows is one code.

A column is its number: A(z) = A_0 + Σ z_i A_i, without a training range, so that whoever searches must bound it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lambdak.eigen.packing import padded_width
from lambdak.losses.registry import make_loss
from lambdak.model import Model
from lambdak.model.outputs import SingleOutput
from lambdak.model.promises import Promises
from lambdak.pencil import Pencil
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear

_KNOWN = "a fitted estimator, its model_, a Pencil or a SpectralNeuron"


def is_pencil(value: Any) -> bool:
    """Whether it is a Pencil, or a module that has a ``to_pencil``, such as :class:`lambdak.torch.SpectralNeuron`."""
    return isinstance(value, Pencil) or (callable(getattr(value, "to_pencil", None)) and not hasattr(value, "model_"))


def usable_model(value: Any, output: Any = None) -> tuple[Model, Any]:
    """The model that a user means, and which output of it: of a pencil there is one; of a layer ``output`` chooses."""
    if is_pencil(value):
        return pencil_model(_pencil(value, output)), None
    model = getattr(value, "model_", value)
    if not isinstance(model, Model):
        raise TypeError(f"model must be {_KNOWN}; got {_unusable(value)}")
    return model, output


def _pencil(value: Any, output: Any) -> Pencil:
    """The pencil itself, or that of a module; ``output`` is for layers alone."""
    if hasattr(value, "out_features"):
        pencil: Pencil = value.to_pencil(output)
        return pencil
    if output is not None:
        raise ValueError(f"a {type(value).__name__} has one output, its eigenvalue; got output={output!r}")
    return value if isinstance(value, Pencil) else value.to_pencil()


def pencil_model(pencil: Pencil) -> Model:
    """The model whose prediction is f(z); its columns are z0, z1 and so on."""
    columns = tuple(
        Linear(f"z{i}", i + 1, low=-np.inf, high=np.inf, median=0.0, clamp=False) for i in range(pencil.n_features)
    )
    coef = np.zeros((1, len(pencil.packed), padded_width(pencil.packed.shape[1])))
    coef[0, :, : pencil.packed.shape[1]] = pencil.packed
    return Model(
        estimator="Pencil",
        encoder=TableEncoder(n_knots=0, clamp=False, columns=columns, from_names=True),
        coef=coef,
        dim=pencil.dim,
        weights=np.ones(1),
        loss=make_loss("squared_error"),
        outputs=SingleOutput((pencil.eig_idx,)),
        start=np.zeros(1),
        scale=1.0,
        promises=Promises(len(columns)),
    )


def has_no_range(column: Column) -> bool:
    """Whether a column is an input of a pencil: any number, and none is missing."""
    return isinstance(column, Linear) and column.low == -np.inf


def check_fixed_inputs(columns: Mapping[str, list[Column]], row: Mapping[str, Any]) -> None:
    """Refuse a fixed input of a pencil that is no finite number: nothing can be put in its place."""
    for name, same in columns.items():
        if name in row and any(map(has_no_range, same)):
            cell = row[name]
            if not isinstance(cell, int | float | np.number) or not np.isfinite(float(cell)):
                raise ValueError(f"fixed must hold finite numbers for the inputs of a pencil; got {name!r}: {cell!r}")


def _unusable(value: Any) -> str:
    """What came instead of a model, and the way out."""
    name = type(value).__name__
    if hasattr(value, "steps"):
        return f"{name}: give its last step, and rows as that step sees them"
    if hasattr(value, "fit") and type(value).__module__.startswith("lambdak."):
        return f"{name}, which is not fitted: call fit first"
    if isinstance(value, np.ndarray):
        return f"{name}: give Pencil(packed), or Pencil.from_matrices(matrices)"
    if hasattr(value, "parameters") and hasattr(value, "state_dict"):
        return (
            f"{name}, a module that is no single spectral neuron, so that no bound of it is proven: search it with "
            "torch.optim, or give one neuron as lambdak.torch.to_pencil(module)"
        )
    return name

"""What training needs to continue, as a file holds it: named arrays and JSON values. What they mean, training knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lambdak._types import FloatArray
from lambdak.store._fields import damaged, fields, items, shown, whole
from lambdak.store._tensors import MOST_BYTES, Form, Tensors, floating

_PREFIX = "training."  # of the names of its tensors
_MOST_ARRAYS = 1 << 12


@dataclass(frozen=True)
class SavedTraining:
    """Named arrays of finite numbers, and beside them what JSON can hold."""

    arrays: Mapping[str, FloatArray]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TrainingBlueprint:
    """What the header says about the state of training: forms of arrays, and JSON values."""

    arrays: dict[str, Form]
    values: dict[str, Any]

    @classmethod
    def read(cls, value: object) -> TrainingBlueprint:
        """Check the field of the header."""
        parts = fields(value, "training", ("arrays", "values"))
        listed = parts["arrays"]
        if not isinstance(listed, dict) or len(listed) > _MOST_ARRAYS:
            raise damaged(f"arrays of training must be an object of at most {_MOST_ARRAYS} fields; got {shown(listed)}")
        if not isinstance(parts["values"], dict):
            raise damaged(f"values of training must be an object; got {shown(parts['values'])}")
        return cls(
            {name: _form(form, f"array {shown(name)} of training") for name, form in listed.items()}, parts["values"]
        )

    @property
    def forms(self) -> dict[str, Form]:
        """The tensors that belong to it."""
        return {_PREFIX + name: form for name, form in self.arrays.items()}

    def build(self, tensors: Tensors) -> SavedTraining:
        """With its tensors."""
        return SavedTraining({name: tensors[_PREFIX + name] for name in self.arrays}, self.values)


def describe_training(saved: SavedTraining) -> tuple[dict[str, Any], Tensors]:
    """Field of the header, and tensors."""
    arrays = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in saved.arrays.items()}
    tensors = {_PREFIX + name: array for name, array in saved.arrays.items()}
    return {"arrays": arrays, "values": dict(saved.values)}, tensors


def _form(value: object, what: str) -> Form:
    parts = fields(value, what, ("dtype", "shape"))
    sizes = [whole(size, f"shape of {what}", 0, MOST_BYTES) for size in items(parts["shape"], f"shape of {what}", 0, 3)]
    return Form(floating(parts["dtype"], f"dtype of {what}"), tuple(sizes))

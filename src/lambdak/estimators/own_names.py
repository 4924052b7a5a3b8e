"""Estimators whose methods are their own: what Python says of a wrong argument then names the class that users know."""

from __future__ import annotations

from types import FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def with_own_names(cls: Class) -> Class:
    """The class, with copies of the public methods that it inherits from other classes of the library.

    ``SpectralClassifier().predict(X, weight=1)`` then fails with "SpectralClassifier.predict() got an unexpected
    keyword argument", and not with the name of the class in which the method happens to be written down.
    """
    for base in cls.__mro__[1:]:
        if not base.__module__.startswith("lambdak."):
            continue
        for name, member in vars(base).items():
            public = name == "__init__" or not name.startswith("_")
            if public and isinstance(member, FunctionType) and name not in vars(cls):
                setattr(cls, name, _copied(member, f"{cls.__qualname__}.{name}"))
    return cls


def _copied(function: FunctionType, name: str) -> FunctionType:
    parts = (function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copied = FunctionType(*parts)
    for attribute in ("__kwdefaults__", "__annotations__", "__doc__", "__module__", "__dict__"):
        setattr(copied, attribute, getattr(function, attribute))
    copied.__qualname__ = name
    return copied

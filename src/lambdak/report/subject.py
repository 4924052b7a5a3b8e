"""What a dossier is about: a fitted model with its settings, and the words of its owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from lambdak.model import Model
from lambdak.store import SavedModel
from lambdak.table.rows import Rows


@dataclass(frozen=True, eq=False)
class Refittable:
    """A fitted model that a dossier is about, and how to fit it with another seed.

    Attributes
    ----------
    saved : SavedModel
        The frozen model, the settings of its fit, and the epochs it took.
    refit
        From a seed and training rows to a model that was fitted like this one, but for its seed.
    """

    saved: SavedModel
    refit: Callable[[int, Rows], Model] = field(repr=False)

    @property
    def model(self) -> Model:
        """The frozen model."""
        return self.saved.model

    @property
    def seeded(self) -> bool:
        """Whether the fit had a seed that is known, so that it can be repeated bit for bit."""
        return isinstance(self.saved.parameters.get("random_state"), int | np.integer)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.model.encoder.feature_names


@dataclass(frozen=True)
class OwnerWords:
    """What only the owner of a model can say; nothing of it is ever invented.

    Attributes
    ----------
    name, version : str
        Of the model, as its owner keeps it in an inventory.
    purpose, intended_use, out_of_scope : str
        What it is for, which decisions it supports and for whom, and what it must not be used for.
    owner, developer, reviewer : str
        Who answers for it, who built it, and who reviews it.
    risk_tier : str
        How much depends on it.
    data_source, target_meaning : str
        Where rows come from and which period they cover; what the target is, and how it was observed.
    exclusions : str
        Rows and columns that were left out, and why.
    alternatives, assumptions : str
        Which other models were considered, and what the model takes for granted.
    ethical_considerations : str
        Protected groups, and what was done about them.
    monitored_by, monitored_when, actions : str
        Who monitors the model, how often, and what happens when a threshold is passed.
    date : str
        Of the document.
    """

    name: str | None = None
    version: str | None = None
    purpose: str | None = None
    intended_use: str | None = None
    out_of_scope: str | None = None
    owner: str | None = None
    developer: str | None = None
    reviewer: str | None = None
    risk_tier: str | None = None
    data_source: str | None = None
    target_meaning: str | None = None
    exclusions: str | None = None
    alternatives: str | None = None
    assumptions: str | None = None
    ethical_considerations: str | None = None
    monitored_by: str | None = None
    monitored_when: str | None = None
    actions: str | None = None
    date: str | None = None


def owner_words(words: Mapping[str, Any]) -> OwnerWords:
    """The words of the owner, checked."""
    names = [part.name for part in fields(OwnerWords)]
    for name, value in words.items():
        if name not in names:
            if name in ("X_test", "y_test"):
                call = "dossier(path, X_test, y_test, X_train=X_train, y_train=y_train)"
                raise TypeError(f"{name} has no name in a dossier, training rows have: {call}")
            raise TypeError(f"{name!r} is no part of a dossier: the owner's words are {', '.join(names)}")
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be text; got {value!r}")
    return OwnerWords(**{name: value for name, value in words.items() if value is None or value.strip()})

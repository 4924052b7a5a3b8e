"""All settings of the fit, as they were set, and what was made of those that were left to the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from lambdak.model import Model
from lambdak.report.amounts import count, number
from lambdak.report.document import Heading, Paragraph, Section, Table, shortened
from lambdak.report.findings import Findings

_MEANINGS = {
    "loss": "what was minimised",
    "quantile": 'quantile level of the loss "quantile"',
    "power": 'power of the loss "tweedie"',
    "quantiles": "quantile levels",
    "class_weight": "weights of the classes",
    "dim": "size of the matrices",
    "eig_idx": "which eigenvalue is read off, counted from 0",
    "shape": "convex or concave in all columns of numbers together",
    "monotonic_cst": "columns that may only rise (1) or fall (-1)",
    "max_influence": "cap on what a column can do to a raw score",
    "interaction_cst": "which columns may interact",
    "categorical_features": "which columns are categories",
    "max_categories": "most levels of a category",
    "n_knots": "knots of a column of numbers",
    "alpha": "penalty by which useless columns vanish",
    "effort": "time that accuracy may cost",
    "n_estimators": "members",
    "max_iter": "epochs",
    "early_stopping": "whether training stops when it no longer improves",
    "validation_fraction": "share of rows on which a member is validated",
    "n_iter_no_change": "epochs without progress before stopping",
    "tol": "least progress that counts",
    "balance": "whether predictions add up to the targets of the training rows",
    "warm_start": "whether another fit continues this one",
    "verbose": "whether progress is shown",
    "random_state": "seed",
    "n_jobs": "threads; does not change the model",
}
_LONGEST = 300  # characters of a setting


def dossier(found: Findings) -> Section:
    """Settings and resolved values."""
    own = found.subject.saved
    settings = [(name, _shown(value), _MEANINGS.get(name, "")) for name, value in own.parameters.items()]
    points = (
        ()
        if found.subject.seeded
        else ("The model was fitted without a seed (random_state): it cannot be refitted bit for bit.",)
    )
    knots, whole = shortened(_columns(own.model), found.by_strength)
    blocks = (
        Paragraph('None and "auto" leave a value to the library; what it chose is in the second table.'),
        Table("Settings of the fit", ("Setting", "Value", "Meaning"), tuple(settings), left=(0, 1, 2)),
        Table("Resolved values", ("Setting", "Resolved value"), _resolved(found), left=(0, 1)),
        Heading("Columns as they were encoded"),
        knots,
    )
    return Section("parameters", "Parameters", blocks, whole, points)


def _shown(value: Any) -> str:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "a generator of random numbers, whose state was not kept"
    text = repr(value)
    return (
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text):,} characters; all are in the model file)"
    )


def _resolved(found: Findings) -> tuple[tuple[str, str], ...]:
    model = found.model
    index = ", ".join(str(i) for i in model.outputs.indices)
    weights = ", ".join(number(float(weight)) for weight in model.weights)
    start = ", ".join(number(float(own)) for own in model.start)
    return (
        ("Size of the matrices (dim)", str(model.dim)),
        ("Eigenvalue (eig_idx)", f"{index}, counted from 0"),
        ("Members (n_estimators)", str(len(model.weights))),
        ("Weights of the members", weights),
        ("Epochs", count(found.subject.saved.n_iter)),
        ("Loss", repr(model.loss)),
        ("Start of raw scores", start),
        ("Scale of raw scores", number(float(model.scale))),
    )


def _columns(model: Model) -> Table:
    signs = {1: "may only rise", -1: "may only fall"}
    rows = []
    for i, column in enumerate(model.encoder.columns):
        cap = model.promises.capped.get(i)
        kept = [signs.get(model.promises.signs[i], ""), "" if cap is None else f"cap {number(cap)}"]
        pieces = (
            f"{column.n_ramps + 1} knots"
            if column.n_ramps
            else "linear"
            if column.is_number
            else f"{len(column.cell_names())} levels"
        )
        rows.append(
            (column.name, pieces, "yes" if column.missing >= 0 else "no", ", ".join(filter(None, kept)) or "none")
        )
    names = ("Column", "Encoded with", "Own matrix for missing cells", "Constraint")
    return Table("Columns and their constraints", names, tuple(rows), left=(0, 1, 2, 3))

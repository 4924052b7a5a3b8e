"""What kind of model it is, in plain words, and with which settings it was fitted; the formula is behind a fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lambdak.explain.promised import promised_of
from lambdak.losses import LOG, Predicts
from lambdak.model import Model
from lambdak.model.readout import readouts
from lambdak.report.amounts import count, number, plural
from lambdak.report.document import Block, Bullets, Fold, Heading, Paragraph, Section, Table, shortened
from lambdak.report.findings import Findings
from lambdak.table.column_contract import Column

_PREDICTS = {
    Predicts.NUMBERS: "a number for each row",
    Predicts.QUANTILES: "several quantiles for each row, which never cross",
    Predicts.CLASSES: "the probability of each class for each row",
    Predicts.ORDERED_CLASSES: "the probability of each of several ordered classes for each row",
}
_LINKS = {
    "identity": "The raw score is the prediction itself.",
    "log": f"The raw score is the logarithm of the prediction, so that effects multiply; from {LOG.most:g} on the "
    "prediction stays as it is.",
    "logit": "The raw score is the log-odds of the prediction, so that effects multiply the odds.",
    "cloglog": "The raw score is the logarithm of the cumulative hazard, so that effects multiply the hazard.",
    "softmax": "There is one raw score for each class; probabilities are their exponentials, divided by their sum.",
}


def dossier(findings: Findings) -> Section:
    """The method, its parts, and what the formula is."""
    model = findings.model
    blocks: tuple[Block, ...] = (
        Paragraph(f"The model predicts {_PREDICTS[model.loss.predicts]}. It is a spectral model ({model.estimator})."),
        Paragraph(_story(model)),
        Bullets(_properties(model)),
        Fold("The formula", (Paragraph(_formula(model)),)),
        _parts(model),
    )
    return Section("method", "Method", blocks)


def _story(model: Model) -> str:
    size = f"{model.dim} × {model.dim}"
    if model.dim == 1:
        return (
            "Each column turns its cell into one number. These numbers, and a constant, are added up: the model is "
            f"additive, and columns do not interact. This is done by {_members(model)}."
        )
    return (
        f"Each column turns its cell into a symmetric table of numbers, a matrix of {size}. These matrices, and a "
        f"constant one, are added up, and one number is read off the sum: an eigenvalue, which is to a matrix what a "
        "pitch is to a string. Because the eigenvalue depends on the whole sum, columns can interact; because the sum "
        f"is taken column by column, what each column can do can be proven. This is done by {_members(model)}."
    )


def _members(model: Model) -> str:
    many = len(model.weights)
    return "one member" if many == 1 else f"{many} members, each with its own matrices, whose results are averaged"


def _properties(model: Model) -> tuple[str, ...]:
    return (
        "A column of numbers acts through a curve of straight pieces between knots; a category has one matrix for each "
        "level, and missing cells have their own, if there were any in training.",
        *beyond_training(model.encoder.columns),
        _LINKS[model.loss.link.name],
        "Constraints on columns are built into the matrices: they hold for every possible row, not only on average "
        "or on the rows that were tried. The section on guarantees has the proofs.",
        "The fitted model is a fixed formula: the same row always has the same prediction.",
    )


def beyond_training(columns: Sequence[Column]) -> list[str]:
    """Return what numbers beyond their training range do: some columns stay flat there, others continue straight."""
    numbers = [column for column in columns if column.is_number]
    flat, straight = (
        "A number beyond the training range counts as the nearest end of it: the model does not extrapolate.",
        "A column of numbers continues straight beyond its training range; bounds hold within the training range only.",
    )
    names = ", ".join(repr(column.name) for column in numbers if not column.bounded)
    if not names:
        return [flat] if numbers else []
    if not any(column.bounded for column in numbers):
        return [straight]
    return [f"{names}: {straight}", f"All other columns of numbers: {flat}"]


def _formula(model: Model) -> str:
    levels = " + P(level)" if model.outputs.levels else ""
    k = ", ".join(str(index + 1) for index in model.outputs.indices)
    return (
        f"raw score = start + scale · Σ_m w_m λ_k(A_m(row){levels}), with A_m(row) = A_m0 + Σ_i A_mi(x_i), symmetric "
        f"matrices of {model.dim} × {model.dim}, k = {k} of {model.dim} eigenvalues in ascending order, and weights "
        f"w_m > 0 that sum to 1. Prediction = inverse of the {model.loss.link.name} link of the raw score."
    )


def _parts(model: Model) -> Table:
    columns = model.encoder.columns
    knots = [column.n_ramps + 1 for column in columns if column.is_number]
    levels = [len(column.cell_names()) for column in columns if not column.is_number]
    rows = [
        ("Loss that was minimised", model.loss.name),
        ("Members", count(len(model.weights))),
        ("Matrix size", f"{model.dim} × {model.dim}"),
        ("Columns of numbers", count(len(knots)) + _with(knots, "knot")),
        ("Categories", count(len(levels)) + _with(levels, "level")),
        ("Matrices of each member", count(model.encoder.n_design + len(model.outputs.levels))),
        ("Numbers stored", f"{count(model.matrices.size)}, in {model.stored_dtype.name}"),
        ("Raw scores of a row", f"{plural(len(model.output_names), 'raw score')}, in units of {model.loss.link.units}"),
        ("Scale of an eigenvalue", number(float(model.scale))),
    ]
    return Table("Parts of the model", ("Part", "Value"), tuple(rows), left=(0, 1))


def _with(counts: Sequence[int], noun: str) -> str:
    """Return how many knots or levels columns have, such as ", with 2 to 8 knots"."""
    if not counts:
        return ""
    few, many = min(counts), max(counts)
    return f", with {plural(many, noun)}" if few == many else f", with {few} to {plural(many, noun)}"


_MEANINGS = {
    "loss": "what was minimised",
    "quantile": 'quantile level of the loss "quantile"',
    "power": 'power of the loss "tweedie"',
    "quantiles": "quantile levels",
    "calibrate_by": "the category whose levels are calibrated apart",
    "class_weight": "weights of the classes",
    "dim": "size of the matrices",
    "eig_idx": "which eigenvalue is read off, counted from 0",
    "shape": "convex or concave in all columns of numbers together",
    "monotonic_cst": "columns that may only rise (1) or fall (-1)",
    "max_influence": "cap on what a column can do to a raw score",
    "interaction_cst": "which columns may interact",
    "constraints": "what else is known of columns, as shapes",
    "protected_features": "what letters to customers must not name",
    "categorical_features": "which columns are categories",
    "max_categories": "most levels of a category",
    "n_knots": "knots of a column of numbers",
    "alpha": "penalty by which useless columns vanish",
    "effort": "time that accuracy may cost",
    "n_estimators": "members",
    "max_iter": "epochs",
    "early_stopping": "whether training stops when it no longer improves",
    "validation_fraction": "share of rows on which a member is validated",
    "scoring": "what early stopping watches",
    "n_iter_no_change": "epochs without progress before stopping",
    "tol": "least progress that counts",
    "balance": "whether predictions add up to the targets of the training rows",
    "warm_start": "whether another fit continues this one",
    "verbose": "whether progress is shown",
    "random_state": "seed",
    "n_jobs": "threads; does not change the model",
}
_LONGEST = 300  # characters of a setting


def parameters(findings: Findings) -> Section:
    """Return all settings of the fit, and what was made of those that were left to the library."""
    saved = findings.subject.saved
    settings = [
        (name, _shown(value), _MEANINGS.get(name, "")) for name, value in saved.parameters.items()
        if value is not None or name != "constraints"  # which the file of a model holds only where there are some
    ]  # fmt: skip
    points = (
        ()
        if findings.subject.seeded
        else ("The model was fitted without a seed (random_state): it cannot be refitted bit for bit.",)
    )
    knots, whole = shortened(_columns(saved.model), findings.by_strength)
    blocks = (
        Paragraph('None and "auto" leave a value to the library; what it chose is in the second table.'),
        Table("Settings of the fit", ("Setting", "Value", "Meaning"), tuple(settings), left=(0, 1, 2)),
        Table("Resolved values", ("Setting", "Resolved value"), _resolved(findings), left=(0, 1)),
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


def _resolved(findings: Findings) -> tuple[tuple[str, str], ...]:
    model = findings.model
    index = ", ".join(str(i) for i in model.outputs.indices)
    weights = ", ".join(number(float(weight)) for weight in model.weights)
    start = ", ".join(number(float(start_of_output)) for start_of_output in model.start)
    return (
        ("Size of the matrices (dim)", str(model.dim)),
        ("Eigenvalue (eig_idx)", f"{index}, counted from 0"),
        ("Members (n_estimators)", str(len(model.weights))),
        ("Weights of the members", weights),
        ("Epochs", count(findings.subject.saved.n_iter)),
        ("Loss", repr(model.loss)),
        ("Start of raw scores", start),
        ("Scale of raw scores", number(float(model.scale))),
    )


def _columns(model: Model) -> Table:
    rows, output = [], readouts(model)[0]
    for i, column in enumerate(model.encoder.columns):
        kept = promised_of(model, output, i)
        pieces = (
            f"{column.n_ramps + 1} knots"
            if column.n_ramps
            else "linear"
            if column.is_number
            else f"{len(column.cell_names())} levels"
        )
        rows.append((column.name, pieces, "yes" if column.missing >= 0 else "no", "; ".join(kept) or "none"))
    names = ("Column", "Encoded with", "Own matrix for missing cells", "Constraint")
    return Table("Columns and their constraints", names, tuple(rows), left=(0, 1, 2, 3))

"""Ways to change a model so that it may break a promise, by a lot or by one bit, and to hide that it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from random_shapes import Source, random_shape, shaped_table

from lambdak.eigen.packing import diagonal_indices
from lambdak.shapes.registry import SHAPES
from random_models import Rng, Subject, requested, with_shapes

Tamper = Callable[[Rng, Subject], Subject | None]  # None: this model has nothing to change in that way


def with_coef(subject: Subject, coef: np.ndarray) -> Subject:
    return Subject(subject.kind, subject.model.replace(coef=coef), subject.parameters)


def changed(subject: Subject, **attributes: Any) -> Subject:
    return Subject(subject.kind, subject.model.replace(**attributes), subject.parameters)


def promised_columns(subject: Subject) -> list[int]:
    """Columns of which something was requested, or all of them."""
    columns = subject.model.encoder.columns
    numbers = [i for i, column in enumerate(columns) if column.is_number]
    found = {i for shape in subject.model.promises.shapes for i in shape.positions or numbers}
    return sorted(found) or list(range(len(columns)))


def own_rows(rng: Rng, subject: Subject) -> tuple[Any, np.ndarray]:
    """A column of which something was requested, and its design columns."""
    column = subject.model.encoder.columns[int(rng.choice(promised_columns(subject)))]
    levels = subject.model.outputs.levels
    if levels and rng.random() < 0.5:
        return None, subject.model.encoder.n_design + np.arange(len(levels))
    return column, np.arange(column.start, column.stop)


def last_bits(rng: Rng, subject: Subject) -> Subject:
    """Some numbers to the next float, of float32 or of float64."""
    coef, width = subject.model.coef.copy(), subject.model.matrices.shape[-1]
    _, rows = own_rows(rng, subject)
    for _ in range(int(rng.integers(1, 4))):
        at = (rng.integers(len(coef)), rng.choice(rows), rng.integers(width))
        kind = np.float32 if rng.random() < 0.5 and np.float32(coef[at]) == coef[at] else np.float64
        coef[at] = float(np.nextafter(kind(coef[at]), kind(rng.choice([-np.inf, np.inf]))))
    return with_coef(subject, coef)


def equal_knots(rng: Rng, subject: Subject) -> Subject:
    """A knot as the one before it, but for one bit, or for none."""
    coef = subject.model.coef.copy()
    _, rows = own_rows(rng, subject)
    j, member = int(rng.integers(max(len(rows) - 1, 1))), rng.integers(len(coef))
    coef[member, rows[min(j + 1, len(rows) - 1)]] = coef[member, rows[j]]
    at = (member, rows[j], rng.choice(diagonal_indices(subject.model.dim)))
    coef[at] = np.nextafter(coef[at], rng.choice([coef[at], -np.inf, np.inf]))
    return with_coef(subject, coef)


def swapped(rng: Rng, subject: Subject) -> Subject:
    """Two design columns of a column, in one pencil or in all."""
    coef = subject.model.coef.copy()
    _, rows = own_rows(rng, subject)
    one, other = rng.choice(rows, 2)
    pencils = slice(None) if rng.random() < 0.5 else slice(0, 1)
    coef[pencils, [one, other]] = coef[pencils, [other, one]]
    return with_coef(subject, coef)


def flipped(rng: Rng, subject: Subject) -> Subject:
    """The sign of one number, or of one matrix."""
    coef = subject.model.coef.copy()
    _, rows = own_rows(rng, subject)
    member, row = rng.integers(len(coef)), rng.choice(rows)
    width = subject.model.matrices.shape[-1]
    at = slice(None) if rng.random() < 0.5 else rng.integers(width)
    coef[member, row, at] *= -1
    return with_coef(subject, coef)


def hidden_fall(rng: Rng, subject: Subject) -> Subject:
    """C I added to all design columns of a column and taken from the constant, and a fall that is small next to c."""
    coef, diagonal = subject.model.coef.copy(), diagonal_indices(subject.model.dim)
    column, rows = own_rows(rng, subject)
    c = 10.0 ** rng.uniform(3, 18)
    numbers = rows[:-1] if column is not None and column.is_number and column.missing >= 0 else rows
    coef[:, numbers[:, None], diagonal] += c
    coef[:, 0, diagonal] -= c
    fall = rng.choice([0.0, 1e-16, 1e-15, 1e-13, 1e-10]) * c * rng.choice([-1.0, 1.0])
    coef[:, numbers[-1], diagonal] -= fall
    return with_coef(subject, coef)


def dented(rng: Rng, subject: Subject) -> Subject:
    """A multiple of v vᵀ taken from one design column: the smallest eigenvalue of a step falls just below zero."""
    coef, dim = subject.model.coef.copy(), subject.model.dim
    _, rows = own_rows(rng, subject)
    v = rng.normal(size=dim)
    i, j = np.tril_indices(dim)
    packed = np.outer(v, v)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    size = np.abs(coef[:, rows]).max() * 10.0 ** rng.uniform(-17, 0)
    member, row = rng.integers(len(coef)), rng.choice(rows)
    coef[member, row, : len(packed)] += rng.choice([-1.0, 1.0]) * size * packed
    return with_coef(subject, coef)


def scaled(rng: Rng, subject: Subject) -> Subject:
    """All matrices of a column times the same factor, close to 1 or not."""
    coef = subject.model.coef.copy()
    _, rows = own_rows(rng, subject)
    factor = rng.choice([-1.0, 0.0, 2.0, 50.0, 1 + 10.0 ** rng.uniform(-16, 0), 1 - 10.0 ** rng.uniform(-16, 0)])
    coef[:, rows] *= factor
    return with_coef(subject, coef)


def moved_knots(rng: Rng, subject: Subject) -> Subject | None:
    """One inner knot somewhere else between its neighbours, or one float further."""
    columns = list(subject.model.encoder.columns)
    curves = [i for i, column in enumerate(columns) if hasattr(column, "knots") and len(column.knots) > 2]
    if not curves:
        return None
    i = int(rng.choice(curves))
    knots = columns[i].knots.copy()
    j = int(rng.integers(1, len(knots) - 1))
    step = np.nextafter(knots[j], rng.choice([-np.inf, np.inf]))
    knots[j] = step if rng.random() < 0.5 else rng.uniform(knots[j - 1], knots[j + 1])
    if not knots[j - 1] < knots[j] < knots[j + 1]:
        return None
    columns[i] = replace(columns[i], knots=knots)
    return changed(subject, encoder=replace(subject.model.encoder, columns=tuple(columns)))


def other_weights(rng: Rng, subject: Subject) -> Subject:
    """Other weights of the members, or another scale."""
    weights = subject.model.weights.copy()
    if len(weights) > 1 and rng.random() < 0.5:
        order = rng.permutation(len(weights))
        return changed(subject, weights=weights[order])
    return changed(subject, scale=float(subject.model.scale * rng.choice([1 + 2.3e-16, 1 + 1e-14, 1.001, 3.0, 0.5])))


def other_constraint(rng: Rng, subject: Subject) -> Subject | None:
    """The opposite direction, or a direction where none was requested."""
    if subject.model.loss.link.joint:
        return None
    numbers = [i for i, column in enumerate(subject.model.encoder.columns) if column.is_number]
    i = int(rng.choice(numbers))
    old = subject.model.promises.signs[i]
    return uncontradicted(lambda: requested(subject, signs={i: -old if old else int(rng.choice([-1, 1]))}))


def uncontradicted(change: Callable[[], Subject]) -> Subject | None:
    """The model with other promises; None if they contradict each other, so that no estimator would take them."""
    try:
        return change()
    except (ValueError, TypeError):
        return None


def other_shape(rng: Rng, subject: Subject) -> Subject | None:
    """One shape more, or in place of another: most often of a class that the model promises, with other fields."""
    columns = [column.name for column in subject.model.encoder.columns]
    X, y = shaped_table(rng)
    if columns != list(X):
        return None
    shapes, source = list(subject.model.promises.shapes), Source(rng, X, y)
    if shapes and rng.random() < 0.7:
        old = shapes.pop(int(rng.integers(len(shapes))))
        new = random_shape(source, type(old).__name__ if rng.random() < 0.7 else str(rng.choice(list(SHAPES))))
    else:
        new = random_shape(source, str(rng.choice(list(SHAPES))))
    unsettled = getattr(new, "at", 0) is None  # a turn that training would choose
    if unsettled or (subject.model.loss.link.joint and new.ordered):
        return None
    return uncontradicted(lambda: with_shapes(subject, [*shapes, new.placed(subject.model.encoder.columns)]))


def lower_cap(rng: Rng, subject: Subject) -> Subject:
    """A cap lower than it was, by a share of 1e-15 or more; or the first cap, near the strength of its column."""
    from lambdak.model.influence import strengths

    i = int(rng.choice(sorted(subject.model.promises.capped) or [0]))
    old = subject.model.promises.caps[i]
    base = old if np.isfinite(old) and rng.random() < 0.5 else float(strengths(subject.model)[i]) or 1.0
    return requested(subject, caps={i: float(base * (1 - rng.choice([0.0, 1e-15, 1e-14, 1e-12, 1e-9, 0.1, 0.9])))})


def other_outputs(rng: Rng, subject: Subject) -> Subject | None:
    """Another eigenvalue, other starts, or quantile levels and cut-points out of order."""
    outputs, dim = subject.model.outputs, subject.model.dim
    start = subject.model.start.copy()
    if len(start) > 1 and rng.random() < 0.3 and not subject.model.loss.link.joint:
        start[-1] = np.nextafter(start[-1], rng.choice([-np.inf, np.inf]))
        return changed(subject, start=start)
    if len(outputs.indices) > 1:
        return changed(subject, outputs=replace(outputs, indices=tuple(rng.permutation(outputs.indices).tolist())))
    return changed(subject, outputs=replace(outputs, indices=(int(rng.integers(dim)),)))


def rounded_cap(rng: Rng, subject: Subject) -> Subject:
    """A constant so large that computing errs by more than the cap leaves, but by little next to the range."""
    model = subject.model
    columns = model.encoder.columns
    kept, other = (int(i) for i in rng.choice(len(columns), 2, replace=False))
    coef = model.coef.copy()
    size = float(np.abs(coef).max()) or 1.0
    wide = slice(columns[other].start, columns[other].stop)
    coef[:, 0, diagonal_indices(model.dim)] += size * 10.0 ** rng.uniform(12, 15)
    sign = model.loss.sign * (model.promises.signs[other] or 1)
    steps = size * 10.0 ** rng.uniform(11, 13) * np.arange(columns[other].stop - columns[other].start)
    coef[:, wide, : model.matrices.shape[-1]] = 0.0
    coef[:, wide, diagonal_indices(model.dim)] = sign * steps[:, None]
    changed_ = with_coef(subject, coef)
    from lambdak.model.influence import any_change
    from lambdak.model.readout import readouts

    bound = max(any_change(output, kept).bound for output in readouts(changed_.model))
    return requested(changed_, caps={kept: max(bound * float(rng.choice([1.01, 2.0, 1e3])), 1e-300)})


def other_classes(rng: Rng, subject: Subject) -> Subject | None:
    """The labels of the classes in another order, or one of them twice."""
    classes = subject.model.classes
    if classes is None:
        return None
    order = rng.permutation(len(classes)) if rng.random() < 0.7 else np.maximum(np.arange(len(classes)), 1)
    return changed(subject, classes=classes[order])


TAMPERINGS: dict[str, Tamper] = {
    "last bits": last_bits,
    "equal knots but one bit": equal_knots,
    "swapped matrices": swapped,
    "flipped signs": flipped,
    "falls hidden in a shift": hidden_fall,
    "a small dent": dented,
    "scaled columns": scaled,
    "moved knots": moved_knots,
    "other weights or scale": other_weights,
    "other direction": other_constraint,
    "other shape": other_shape,
    "lower cap": lower_cap,
    "other outputs": other_outputs,
    "a cap below rounding": rounded_cap,
    "classes in another order": other_classes,
}


def tampered(rng: Rng, subject: Subject) -> tuple[str, Subject]:
    """The model, changed in one of these ways."""
    while True:
        name = str(rng.choice(list(TAMPERINGS)))
        with np.errstate(all="ignore"):
            found = TAMPERINGS[name](rng, subject)
        if found is not None and np.isfinite(found.model.coef).all():
            return name, found

"""What ``lambdak fit`` prints about the model it wrote: metrics on unseen rows, as data and in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lambdak.cli.errors import InputError
from lambdak.cli.outputs import say
from lambdak.cli.task import REQUESTED
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.model.model import Model


class Scored(Protocol):
    """Rows of which a model can compute the raw scores, in memory or not."""

    def scored(self, model: Model) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Targets, raw scores and weights."""


def metrics(estimator: Any, rows: Scored) -> dict[str, float]:
    """Name of the metric → number."""
    from lambdak.model.metrics import class_codes, raw_metrics

    y, raw, weight = rows.scored(estimator.model_)
    if hasattr(estimator, "classes_"):
        unknown = y[class_codes(estimator.classes_, y) < 0]
        if len(unknown):
            raise InputError(f"the test rows have a class that the model does not know: {unknown[0].item()!r}")
    return {metric.name: metric.value for metric in raw_metrics(estimator.model_, y, raw, weight)}


def described(model: Any, path: Path) -> dict[str, Any]:
    """A fitted model and its file as plain data."""
    from lambdak.certify.summary import plain_statement

    columns, certificate = model.model_.encoder.columns, model.certify()
    answer: dict[str, Any] = {
        "model": str(path),
        "bytes": path.stat().st_size,
        "numbers": [column.name for column in columns if column.is_number],
        "categories": {column.name: column.width for column in columns if not column.is_number},
        "epochs": model.n_iter_,
        "guarantees": [
            {"column": claim.subject, "statement": plain_statement(claim, certificate.score), "proven": claim.proven}
            for claim in certificate.claims
            if claim.requested
        ],
    }
    return answer | ({"classes": model.classes_.tolist()} if hasattr(model, "classes_") else {})


def print_summary(answer: dict[str, Any]) -> None:
    """A few lines, each with a word on what it is about."""
    from lambdak.model.outward import separated

    lines = [("target", f"{answer['target']}: {answer['task']}, {_why(answer)}"), *_classes(answer)]
    test = f", {answer['test_rows']} to test on" if answer["test_rows"] else ""
    lines += [("rows", f"{answer['rows']} to train on{test}"), ("columns", _columns(answer))]
    for each in answer["guarantees"]:
        lines.append(("proven" if each["proven"] else "not proven", each["statement"]))
    if "metrics" in answer:
        lines.append(
            ("test", ", ".join(f"{name} {separated(f'{value:.4g}')}" for name, value in answer["metrics"].items()))
        )
    lines.append(("model", f"{answer['model']} ({answer['bytes'] / 1000:.0f} kB, fitted in {answer['seconds']:.1f} s)"))
    for label, words in lines:
        say(f"{label:<12}{visible(words)}")


def _why(answer: dict[str, Any]) -> str:
    return answer["why"] if answer["why"] == REQUESTED else f"because {answer['why']}"


def _classes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    if "classes" not in answer:
        return []
    order = " < " if answer["task"] == "ordinal" else ", "
    return [("classes", order.join(map(str, answer["classes"])))]


def _columns(answer: dict[str, Any]) -> str:
    parts = [f"{len(answer['numbers'])} numeric"] if answer["numbers"] else []
    if answer["categories"]:
        sizes = ", ".join(f"{name} ({count} categories)" for name, count in answer["categories"].items())
        parts.append(f"{len(answer['categories'])} categorical: {sizes}")
    return ", ".join(parts)

"""What ``lambdak fit`` tells about the model it wrote: as data, and in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def described(model: Any, path: Path) -> dict[str, Any]:
    """A fitted model and its file as plain data."""
    columns = model.model_.encoder.columns
    answer: dict[str, Any] = {
        "model": str(path),
        "bytes": path.stat().st_size,
        "numbers": [column.name for column in columns if column.is_number],
        "categories": {column.name: column.width for column in columns if not column.is_number},
        "epochs": model.n_iter_,
        "guarantees": [
            {"column": claim.subject, "statement": claim.statement, "proven": claim.proven}
            for claim in model.certify().claims
            if claim.requested
        ],
    }
    return answer | ({"classes": model.classes_.tolist()} if hasattr(model, "classes_") else {})


def print_summary(answer: dict[str, Any]) -> None:
    """A few lines, each with a word on what it is about."""
    lines = [("target", f"{answer['target']}: {answer['task']}, {_why(answer)}"), *_classes(answer)]
    held = f", {answer['held_out_rows']} held out" if answer["held_out_rows"] else ""
    lines += [("rows", f"{answer['rows']} to fit{held}"), ("columns", _columns(answer))]
    for each in answer["guarantees"]:
        lines.append(("proven" if each["held"] else "NOT HELD", each["statement"]))
    if "scores" in answer:
        lines.append(("held out", ", ".join(f"{name} {value:.4g}" for name, value in answer["scores"].items())))
    lines.append(("model", f"{answer['model']} ({answer['bytes'] / 1000:.0f} kB, fitted in {answer['seconds']:.1f} s)"))
    for label, words in lines:
        typer.echo(f"{label:<10}{words}")


def _why(answer: dict[str, Any]) -> str:
    return answer["why"] if answer["why"] == "as asked" else f"because {answer['why']}"


def _classes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    if "classes" not in answer:
        return []
    order = " < " if answer["task"] == "ordinal" else ", "
    return [("classes", order.join(map(str, answer["classes"])))]


def _columns(answer: dict[str, Any]) -> str:
    parts = [f"{len(answer['numbers'])} of numbers"] if answer["numbers"] else []
    if answer["categories"]:
        levels = ", ".join(f"{name} ({count})" for name, count in answer["categories"].items())
        parts.append(f"{len(answer['categories'])} of categories, with so many levels: {levels}")
    return ", ".join(parts)

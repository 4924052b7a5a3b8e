"""The table of the scaling laws, as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lambdak.atomic import write_text
from lambdak.paper.parts import csv_text
from lambdak.paper.synthetic.laws import (
    FIRST,
    NAMES,
    Curves,
    bootstrap,
    choose_form,
    exponent,
    fit_law,
    prediction_error,
    rms,
)

Row = dict[str, int | float | str]


def write_laws(found: Sequence[Curves], out: Path, times: int = 200) -> tuple[Path, Path]:
    """Write the table of the best form's exponents as CSV and Markdown, ``scaling-laws`` by name, into ``out``.

    Their ranges are those of this many fits to resampled targets.
    """
    misfits = choose_form(found)
    form = next(iter(misfits))
    table = [_row(form, each, times) for each in found]
    paths = out / "scaling-laws.csv", out / "scaling-laws.md"
    for path, text in zip(paths, (csv_text(table), _markdown(misfits, table)), strict=True):
        write_text(path, text)
    return paths


def _row(form: str, curves: Curves, times: int) -> Row:
    """The exponents with the range of nine in ten resampled fits, and by which factor the law is typically off."""
    errors, cell = curves.medians(), curves.cell
    law = fit_law(form, curves, errors)
    spread = np.quantile(bootstrap(form, curves, times), [0.05, 0.95], axis=0)
    row: Row = {"inputs": cell.inputs, "fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise}
    for name, value, (low, high) in zip(NAMES, law.exponents, spread.T, strict=True):
        row |= {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}
    wrong = np.log(law(np.array(curves.dims)[:, None], curves.samples) / errors)
    row["fitted"] = float(np.exp(rms(wrong[:, curves.used])))
    row["predicted"] = float(np.exp(prediction_error(form, curves)))
    return row


def _markdown(misfits: dict[str, float], table: Sequence[Row]) -> str:
    ranked = ", ".join(f"{form} {np.exp(misfit):.2f}" for form, misfit in misfits.items())
    lines = [
        "# Scaling laws",
        "",
        "The law of the error e is e^−2 = σ^−2 + r^−2, with σ the error of the best constant and r one of five forms",
        "of dim d and samples n: A d^−α n^−β (product), A d^−α + B n^−β (sum), the root of (A d^−α)² + (B n^−β)²",
        "(squares), and the latter two with d^γ before the samples' part (coupled).",
        "",
        f"How far off each form is for the largest dim when fitted to the others, as a factor: {ranked}.",
        f"Below is the best, {next(iter(misfits))}, from {FIRST:,} samples on; in brackets nine of ten fits to",
        "resampled targets. The last two columns: the typical factor between law and median, of the law fitted to",
        "all dims, and of the largest dim as the others predict it.",
        "",
        "| inputs | fit | complexity | noise | α (dim) | β (samples) | γ (coupling) | fitted | predicted |",
        "|---" * 9 + "|",
    ]
    for row in table:
        exponents = (_exponents(row, name) for name in NAMES)
        head = " | ".join(str(row[name]) for name in ("inputs", "fit", "complexity", "noise"))
        lines.append(f"| {head} | {' | '.join(exponents)} | {row['fitted']:.2f} | {row['predicted']:.2f} |")
    return "\n".join(lines) + "\n"


def _exponents(row: Row, name: str) -> str:
    value, low, high = (exponent(float(row[name + end])) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"

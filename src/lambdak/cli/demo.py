"""``lambdak demo``: the first look, on a table that ships with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak.atomic import write_text
from lambdak.cli import demo_results
from lambdak.cli.errors import InputError
from lambdak.cli.outputs import plotting, save_picture
from lambdak.cli.tables import csv_text
from lambdak.explain.quantile_fan import Fan
from lambdak.table.visible import visible

EXAMPLES = ("lambdak demo", "lambdak demo --out first-look")
EFFORT = "balanced"
FOLDS = 5
PAIRS = 20_000
DRAWN = ("bmi", "log_triglycerides")  # one with a requested sign, and one that is free
PATIENT = 0
TOLERANCES = {"bmi": 1.0, "pressure": 5.0}

console = Console(highlight=False)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files.", file_okay=False)] = Path("lambdak-demo"),
) -> None:
    """Fit, evaluate, certify and explain scikit-learn's diabetes table; write the model, its report and pictures.

    Takes about twenty seconds and needs no network. The files are there to try the other commands on.
    """
    _make_folder(out)
    patients = demo_results.load_patients()
    console.print(
        f"{len(patients.y)} patients, {len(patients.names)} columns; to predict: {patients.target} of the disease."
    )
    console.print("A larger body mass index (bmi) or blood pressure must never lower the prediction.")
    # Boosted trees are several times faster without threads on a table this short; ours have a pool of their own.
    with threadpool_limits(1, user_api="openmp"), Progress(console=console, transient=True) as progress:
        step = _steps(progress)
        _print_accuracy(_cross_validated(patients, step))
        step("fitting the whole table")
        model = demo_results.fitted(patients, EFFORT)
        peer = demo_results.boosted().fit(patients.X, patients.y)
        step("changing columns at random")
        explanation = model.explain_global(patients.X)
        _print_columns(explanation, demo_results.falls(model, peer, patients, pairs=PAIRS))
        _print_certificate(model)
        local = model.explain_local(patients.X[[PATIENT]])
        _print_patient(local)
        step("fitting quantiles")
        fan = demo_results.fan(patients, rows=PAIRS, effort=EFFORT)
        _print_quantiles(fan)
        step("writing the files")
        files = dict([*_files(patients, model, out), *_drawn(explanation, local, fan, out)])
    _print_files(files, out)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be made; got {out}: {error.strerror}") from error


def _steps(progress: Progress) -> Callable[[str], None]:
    """A function that moves the progress bar to its next step."""
    bar = progress.add_task("starting", total=3 * FOLDS + 4)

    def step(name: str) -> None:
        progress.update(bar, description=name, advance=1)

    return step


def _cross_validated(
    patients: demo_results.Patients, step: Callable[[str], None]
) -> dict[str, list[demo_results.FoldResult]]:
    """Model → its results on all folds."""
    found: dict[str, list[demo_results.FoldResult]] = {}
    for result in demo_results.cross_validate(patients, demo_results.candidates(patients, EFFORT), FOLDS):
        found.setdefault(result.model, []).append(result)
        step("cross-validating")
    return found


def _files(patients: demo_results.Patients, model: Any, out: Path) -> Iterator[tuple[str, str]]:
    """Write the files, one after the other: name and what it is, or what is missing for it."""
    cells = [*patients.X.T.tolist(), patients.y.tolist()]
    write_text(out / "patients.csv", csv_text([*patients.names, patients.target], zip(*cells, strict=True)))
    yield "patients.csv", "the table"
    model.save(out / "model.safetensors")
    yield "model.safetensors", "the model, for lambdak predict, explain, certify and report"
    write_text(out / "certificate.json", model.certify(TOLERANCES).to_json() + "\n")
    yield "certificate.json", "what is proven about it, with the numbers"
    try:
        model.report(out / "report.html", patients.X, patients.y)
        yield "report.html", "the model itself with sliders: open it in a browser"
    except ImportError as error:
        yield "report.html", f"skipped: {error}"


def _drawn(explanation: Any, local: Any, fan: Fan, out: Path) -> Iterator[tuple[str, str]]:
    """Draw the pictures, if matplotlib is there."""
    try:
        plots = plotting()
    except InputError as error:
        yield "pictures", f"skipped: {error}"
        return
    axes = plots.side_by_side(len(DRAWN))
    for name, ax in zip(DRAWN, axes, strict=True):
        plots.draw_effect(explanation[name], ax)
    pictures = {
        "effects.png": (axes[0], "how two columns change predictions, and the region that no row can leave"),
        "influence.png": (plots.draw_strengths(explanation), "what each column can do, and what was observed"),
        "quantiles.png": (plots.draw_fan(fan), "quantiles of test patients"),
        "patient.png": (plots.draw_waterfall(local, 0), f"what made the prediction of patient {PATIENT}"),
    }
    for name, (ax, words) in pictures.items():
        save_picture(ax, out / name)
        yield name, words


def _print_accuracy(found: dict[str, list[demo_results.FoldResult]]) -> None:
    table = _table(f"Cross-validation, {FOLDS} folds", "", "R² on unseen rows", "seconds per fit")
    for name, folds in found.items():
        r2, seconds = np.array([[fold.r2, fold.seconds] for fold in folds]).T
        table.add_row(name, f"{r2.mean():.3f}", f"{np.median(seconds):.3f}")
    table.caption = "boosted trees: HistGradientBoostingRegressor"
    console.print(table)


def _print_columns(explanation: Any, falls: dict[str, tuple[int, int]]) -> None:
    names = ("column", "monotone", "proven", "observed", "falls:\nlambdak", "falls:\nboosted trees")
    table = _table("What a change of one column can do to a prediction", *names)
    for each in explanation.effects:
        name = each.column
        counts = [f"{count:,}" for count in falls[name]] if name in falls else ["", ""]
        table.add_row(name, "+" if name in falls else "", f"{each.proven:.0f}", f"{each.observed:.0f}", *counts)
    table.caption = (
        f"proven: no change of the column moves any prediction by more; observed: the largest change on "
        f"{explanation.rows} rows; falls: how many of {PAIRS:,} predictions fell although the column rose"
    )
    console.print(table)


def _print_quantiles(fan: Fan) -> None:
    table = _table("Quantiles", "", "rows on which they cross")
    for name, count in zip(("lambdak", "boosted trees, one fit per quantile"), fan.crossings, strict=True):
        table.add_row(name, f"{count:,} of {PAIRS:,}")
    nominal = fan.levels[-1] - fan.levels[0]
    table.caption = f"{fan.inside.mean():.0%} of the test rows lie in lambdak's {nominal:.0%} band"
    console.print(table)


def _print_certificate(model: Any) -> None:
    """The requested claims of the certificate, and the bound on the response."""
    console.print("[bold]Certificate[/]")
    for claim in model.certify(TOLERANCES).claims:
        if claim.requested or claim.kind == "response":
            value = f": {claim.value:.3g}" if claim.kind == "response" else ""
            words = f"{'proven' if claim.proven else 'not proven'}  {claim.statement}{value}"
            console.print(words, markup=False, soft_wrap=True)


def _print_patient(local: Any) -> None:
    console.print(f"\n[bold]Why patient {PATIENT} gets this prediction[/]")
    console.print(f"{local.why(0)}\n", markup=False, soft_wrap=True)


def _print_files(files: dict[str, str], out: Path) -> None:
    console.print(Text(visible(f"Files in {out}/"), "bold"), soft_wrap=True)
    for name, words in files.items():
        console.print(f"  {name:<18} {words}", markup=False, soft_wrap=True)


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for i, name in enumerate(names):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    return table

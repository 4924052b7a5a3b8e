"""``lambdak demo``: the first look, on a table that ships with scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak.atomic import write_text
from lambdak.cli.errors import InputError
from lambdak.cli.outputs import plotting, save_picture
from lambdak.cli.written_tables import csv_text
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.cli import demo_results
    from lambdak.explain.column_effect import Fan

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

    Its peers have the same constraint. Takes about half a minute and needs no network. The files are there to try the
    other commands on.
    """
    from lambdak.cli import demo_results
    from lambdak.cli.demo_results import CAPPED, MONOTONE, OURS, falls
    from lambdak.table.read import named_array

    _make_folder(out)
    patients = demo_results.load_patients()
    console.print(
        f"{len(patients.y)} patients, {len(patients.names)} columns; to predict: {patients.target} of the disease."
    )
    console.print("A larger body mass index (bmi) or blood pressure must never lower the prediction.\n")
    # Boosted trees are several times faster without threads on a table this short; ours have a pool of their own.
    with threadpool_limits(1, user_api="openmp"), Progress(console=console, transient=True) as progress:
        step = _steps(progress)
        found = _cross_validated(patients, step)
        step("fitting the whole table")
        models = demo_results.fit_all(patients, EFFORT)
        model = models[OURS + MONOTONE]
        step("changing columns at random")
        predict = {name: demo_results.predictor(each, patients) for name, each in models.items()}
        _print_accuracy(found, {name: falls(each, patients, pairs=PAIRS) for name, each in predict.items()})
        explanation = model.explain_global(patients.table)
        _print_columns(explanation, models[OURS + MONOTONE + CAPPED].explain_global(patients.table))
        _print_certificate(model)
        local = model.explain_local(named_array(patients.X[[PATIENT]], patients.names))
        _print_patient(local)
        step("fitting quantiles")
        fan, quantiles = demo_results.compare_quantiles(patients, pairs=PAIRS, effort=EFFORT)
        _print_quantiles(fan, quantiles)
        step("writing the files")
        files = dict([*_files(patients, model, out), *_drawn(model, explanation, local, fan, out)])
    _print_files(files, out)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be made; got {out}: {error.strerror}") from error


def _steps(progress: Progress) -> Callable[[str], None]:
    """A function that moves the progress bar to its next step."""
    bar = progress.add_task("starting", total=6 * FOLDS + 4)

    def step(name: str) -> None:
        progress.update(bar, description=name, advance=1)

    return step


def _cross_validated(
    patients: demo_results.Patients, step: Callable[[str], None]
) -> dict[str, list[demo_results.FoldResult]]:
    """Model → its results on all folds."""
    from lambdak.cli import demo_results

    found: dict[str, list[demo_results.FoldResult]] = {}
    for result in demo_results.cross_validate(patients, demo_results.candidates(patients, EFFORT), FOLDS):
        found.setdefault(result.model, []).append(result)
        step("cross-validating")
    return found


def _files(patients: demo_results.Patients, model: Any, out: Path) -> Iterator[tuple[str, str]]:
    """Write the files, one after the other: name and what it is, or what is missing for it."""
    from lambdak.cli import demo_results

    cells = [*patients.X.T.tolist(), patients.y.tolist()]
    write_text(out / "patients.csv", csv_text([*patients.names, patients.target], zip(*cells, strict=True)))
    yield "patients.csv", "the table"
    model.save(out / "model.safetensors")
    yield "model.safetensors", "the model, for lambdak predict, explain, certify and report"
    write_text(out / "certificate.json", model.certify(TOLERANCES).to_json() + "\n")
    yield "certificate.json", "what is proven about it, with the numbers"
    demo_results.write_report(patients, out / "report.html", EFFORT)
    yield (
        "report.html",
        "such a model with sliders, measured on rows that its fit did not see: open it in a browser",
    )


def _drawn(model: Any, explanation: Any, local: Any, fan: Fan, out: Path) -> Iterator[tuple[str, str]]:
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
        "influence.png": (plots.draw_strengths(explanation), "what each column does, and the most that it can do"),
        "quantiles.png": (plots.draw_fan(fan), "quantiles of test patients"),
        "patient.png": (plots.draw_waterfall(local, 0), f"what made the prediction of patient {PATIENT}"),
        "history.png": (model.plot_history(), "how the fit went, epoch by epoch"),
    }
    for name, (ax, words) in pictures.items():
        save_picture(ax, out / name)
        yield name, words


def _print_accuracy(found: dict[str, list[demo_results.FoldResult]], fell: dict[str, dict[str, int]]) -> None:
    from lambdak.cli.demo_results import OURS

    columns = ("R² on\nunseen rows", *(f"falls:\n{name}" for name in fell[OURS]), "seconds\nper fit")
    table = _table(f"Cross-validation, {FOLDS} folds", "", *columns)
    for name, folds in found.items():
        counts = (f"{count:,}" for count in fell[name].values())
        table.add_row(name, f"{_r2(folds):.3f}", *counts, f"{np.median([fold.seconds for fold in folds]):.2f}")
    table.caption = _about_accuracy(found, fell)
    console.print(table)


def _about_accuracy(found: dict[str, list[demo_results.FoldResult]], fell: dict[str, dict[str, int]]) -> str:
    from lambdak.cli import demo_results
    from lambdak.cli.demo_results import MONOTONE, OURS, TREES

    column, most = demo_results.CAP
    costs = (f"{_r2(found[name + MONOTONE]) - _r2(found[name]):+.3f} ({name})" for name in (OURS, TREES))
    kept = not any(sum(fell[name + MONOTONE].values()) for name in (OURS, TREES))
    return (
        f"falls: of {PAIRS:,} predictions, as this column alone rises at random\n"
        f"monotone: R² changes by {', '.join(costs)}"
        + ("; nothing falls: boosted trees keep this promise, too" if kept else "")
        + f"\ncapped: {column} moves no prediction by more than {most:g}; the trees have no such setting\n"
        "boosted trees: HistGradientBoostingRegressor, default settings\n"
    )


def _r2(folds: list[demo_results.FoldResult]) -> float:
    return float(np.mean([fold.r2 for fold in folds]))


def _print_columns(explanation: Any, capped: Any) -> None:
    from lambdak.cli import demo_results

    names = ("column", "monotone", "proven", "observed", "proven,\ncapped", "observed,\ncapped")
    table = _table("Proven by lambdak: what a change of one column can do to a prediction", *names)
    for each in explanation.effects:
        other = capped[each.column]
        pairs = ((each.proven, each.observed), (other.proven, other.observed))
        sizes = (text for proven, observed in pairs for text in (f"{math.ceil(proven)}", f"{observed:.0f}"))
        table.add_row(each.column, "+" if each.sign > 0 else "", *sizes)
    table.caption = (
        "proven: no change of the column moves any prediction by more\n"
        f"observed: the largest change on {explanation.rows} rows\n"
        f"capped: with max_influence={{{demo_results.CAP[0]!r}: {demo_results.CAP[1]:g}}}\n"
    )
    console.print(table)


def _print_quantiles(fan: Fan, found: dict[str, demo_results.QuantileResult]) -> None:
    from lambdak.cli.demo_results import OURS, TREES

    band = f"in the\n{fan.levels[-1] - fan.levels[0]:.0%} band"
    columns = [f"falls:\n{name}" for name in found[OURS].falls]
    table = _table(f"{len(fan.levels)} quantiles, all monotone", "", "pinball\nloss", band, "cross", *columns)
    for name, result in found.items():
        counts = (f"{count:,}" for count in (result.crossings, *result.falls.values()))
        table.add_row(name, f"{result.loss:.1f}", f"{result.inside:.0%}", *counts)
    broken = any(found[TREES].falls.values())
    table.caption = (
        f"pinball loss (smaller is better) and band: on {len(fan.y)} test rows\n"
        f"cross: {PAIRS:,} patients with another bmi; is some quantile above a higher one?\n"
        "falls: as above, of any quantile\n"
        "boosted trees: one fit per quantile, all with the same monotonic_cst"
        + (", which scikit-learn does not enforce for this loss" if broken else "")
        + "\nsorted: the quantiles of a row put in order"
    )
    console.print(table)


def _print_certificate(model: Any) -> None:
    """The requested claims of the certificate, and the bound on the response."""
    from lambdak.certify.summary import plain_statement

    console.print("[bold]Certificate[/]")
    certificate = model.certify(TOLERANCES)
    for claim in certificate.claims:
        if claim.requested or claim.kind == "response":
            words = f"{'proven' if claim.proven else 'not proven'}  {plain_statement(claim, certificate.score)}"
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

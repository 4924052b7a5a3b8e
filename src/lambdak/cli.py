"""The command line: ``lambdak demo``, ``lambdak config``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from lambdak import demo as demonstration
from lambdak.runtime import show_config

EFFORT = "balanced"
FOLDS = 5
PAIRS = 20_000
DRAWN = (2, 8)  # body mass index, of which a sign is asked, and triglycerides, which are free
PICTURES = ("effects.png", "influence.png", "quantiles.png")

app = typer.Typer(
    help="The spectral neuron: one eigenvalue of a learned symmetric matrix, with guarantees you can read.",
    no_args_is_help=True,
)
console = Console()


@app.command()
def config() -> None:
    """Print the kernel in use, its instruction set, the threads and the versions."""
    show_config()


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.", file_okay=False)] = Path("lambdak-demo"),
) -> None:
    """Fit, score and explain scikit-learn's diabetes table, and count how often guarantees are broken.

    Takes about ten seconds and needs no network. Example: lambdak demo --out pictures
    """
    plots = _plots()
    if plots:
        _make_folder(out)
    table = demonstration.patients()
    console.print(f"{len(table.y)} patients, {len(table.names)} columns; to predict: {table.target}.")
    console.print("A larger body mass index or blood pressure shall never lower the prediction.")
    _print_scores(_scores(table))
    with console.status("fitting the whole table"):
        model = demonstration.spectral(table, EFFORT).fit(table.X, table.y)
        peer = demonstration.boosted().fit(table.X, table.y)
    columns = demonstration.influences(model, peer, table, pairs=PAIRS)
    influences = list(track(columns, "changing columns at random", len(table.names), console=console, transient=True))
    _print_influences(influences)
    with console.status("fitting quantiles"):
        fan = demonstration.fan(table, rows=PAIRS, effort=EFFORT)
    _print_quantiles(fan)
    if plots:
        effects = [demonstration.effect(model, table, column) for column in DRAWN]
        _draw(plots, effects, influences, fan, out)
    else:
        console.print("Pictures need matplotlib: pip install 'lambdak\\[plot]'")


def _plots() -> ModuleType | None:
    """The drawing functions, if matplotlib is installed."""
    try:
        from lambdak import plots
    except ImportError:
        return None
    return plots


def _draw(
    plots: ModuleType,
    effects: Sequence[demonstration.Effect],
    influences: Sequence[demonstration.Influence],
    fan: demonstration.Fan,
    out: Path,
) -> None:
    axes = plots.side_by_side(len(effects))
    for effect, ax in zip(effects, axes, strict=True):
        plots.draw_effect(effect, ax)
    for ax, name in zip((axes[0], plots.draw_influence(influences), plots.draw_fan(fan)), PICTURES, strict=True):
        plots.save(ax, out / name)
    console.print(f"Pictures: {', '.join(PICTURES)} in {out}/", soft_wrap=True)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        console.print(f"[red]--out must be a folder that can be made;[/] got {out}: {error.strerror}")
        raise typer.Exit(1) from error


def _scores(table: demonstration.Table) -> dict[str, list[demonstration.Score]]:
    """The scores of each model, gathered behind a progress bar."""
    found: dict[str, list[demonstration.Score]] = {}
    models = demonstration.contestants(table, EFFORT)
    fits = demonstration.scores(table, models, FOLDS)
    for score in track(fits, "cross-validating", len(models) * FOLDS, console=console, transient=True):
        found.setdefault(score.model, []).append(score)
    return found


def _print_scores(found: dict[str, list[demonstration.Score]]) -> None:
    table = _table(f"Cross-validation, {FOLDS} folds", "", "R² on unseen rows", "seconds per fit")
    for name, scores in found.items():
        r2, seconds = np.array([[score.r2, score.seconds] for score in scores]).T
        table.add_row(name, f"{r2.mean():.3f}", f"{np.median(seconds):.3f}")
    table.caption = "boosted trees: HistGradientBoostingRegressor"
    console.print(table)


def _print_influences(influences: Sequence[demonstration.Influence]) -> None:
    names = ("column", "monotonic_cst", "proven", "seen", "falls:\nlambdak", "falls:\nboosted trees")
    table = _table("What a change of one column can do to a prediction", *names)
    for each in sorted(influences, key=lambda each: -each.proven):
        falls = [f"{count:,}" for count in each.falls] if each.falls else ["", ""]
        asked = f"{each.sign:+d}" if each.sign else ""
        table.add_row(each.column, asked, f"{each.proven:.0f}", f"{each.seen:.0f}", *falls)
    table.caption = (
        f"proven: no change of the column moves any prediction by more; seen: the most that {PAIRS:,} random changes "
        "did; falls: how many of them lowered the prediction although the column rose"
    )
    console.print(table)


def _print_quantiles(fan: demonstration.Fan) -> None:
    table = _table("Quantiles", "", "rows on which they cross")
    for name, count in zip(("lambdak", "boosted trees, one fit per quantile"), fan.crossings, strict=True):
        table.add_row(name, f"{count:,} of {PAIRS:,}")
    nominal = fan.levels[-1] - fan.levels[0]
    table.caption = f"{fan.inside.mean():.0%} of the held-out rows lie in lambdak's band for {nominal:.0%}"
    console.print(table)


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for i, name in enumerate(names):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    return table


def main() -> None:
    """Run the command line."""
    app()

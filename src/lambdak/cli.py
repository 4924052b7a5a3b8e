"""The command line: ``lambdak demo``, ``lambdak config``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lambdak import demo as demonstration
from lambdak._checks import FloatArray
from lambdak.runtime import get_isa, get_num_threads, show_config

DIMS = (3, 7, 15)
STEPS = 3000
PICTURES = ("gallery-5x5.png", "gallery-6x6-psd.png", "noisy-curve.png")

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
    speed: Annotated[bool, typer.Option(help="Also time the kernel against LAPACK.")] = True,
) -> None:
    """Draw the paper's galleries, fit a noisy curve with dims 3, 7 and 15, and time the kernel.

    Takes about ten seconds. Example: lambdak demo --out pictures
    """
    try:
        from lambdak import plots
    except ImportError as error:
        console.print("[red]The pictures need matplotlib:[/] pip install 'lambdak\\[plot]'")
        raise typer.Exit(1) from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        console.print(f"[red]--out must be a folder that can be made;[/] got {out}: {error.strerror}")
        raise typer.Exit(1) from error
    data = demonstration.noisy_curve()
    fits = _fit_all(data)
    plots.save(plots.draw_gallery(demonstration.gallery(5, definite=False)), out / PICTURES[0])
    plots.save(plots.draw_gallery(demonstration.gallery(6, definite=True)), out / PICTURES[1])
    plots.save(plots.draw_fits(data, fits), out / PICTURES[2])
    _print_fits(data, fits)
    if speed:
        _print_speed()
    console.print(f"Pictures: {', '.join(PICTURES)} in {out}/", soft_wrap=True)


def _fit_all(data: demonstration.CurveData) -> dict[int, FloatArray]:
    """Fit each dim behind a progress bar; the fitted curves on the grid."""
    fits = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[loss]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        for dim in DIMS:
            task = progress.add_task(f"fitting dim {dim:2d}", total=STEPS // 100, loss="")
            for pencil in demonstration.fit_curve(data, dim, steps=STEPS):
                rmse = float(np.sqrt(np.mean((pencil(data.x[:, None]) - data.y) ** 2)))
                progress.update(task, advance=1, loss=f"train RMSE {rmse:.3f}")
            fits[dim] = pencil(data.grid[:, None])
    return fits


def _print_fits(data: demonstration.CurveData, fits: dict[int, FloatArray]) -> None:
    table = Table(title=f"A noisy curve (noise {demonstration.NOISE}), one spectral neuron", title_justify="left")
    table.add_column("dim", justify="right")
    table.add_column("RMSE to the true curve", justify="right")
    for dim, curve in fits.items():
        table.add_row(str(dim), f"{np.sqrt(np.mean((curve - data.truth) ** 2)):.4f}")
    console.print(table)


def _print_speed() -> None:
    title = f"One eigenpair per matrix: microseconds per matrix (kernel: {get_isa()}, {get_num_threads()} threads)"
    table = Table(title=title, title_justify="left")
    for name in ("dim", "dtype", "lambdak, 1 thread", "LAPACK (numpy eigh)", "ratio", "lambdak, all threads"):
        table.add_column(name, justify="right")
    with console.status("timing the kernel against LAPACK"):
        for dim in (5, 9, 15, 31):
            for dtype in (np.float32, np.float64):
                result = demonstration.kernel_speed(dim, dtype)
                times = (result.one_thread, result.lapack, result.all_threads)
                one, peer, many = (f"{1e6 * seconds / result.batch:.3f}" for seconds in times)
                table.add_row(str(dim), result.dtype, one, peer, f"{result.lapack / result.one_thread:.0f}x", many)
    console.print(table)


def main() -> None:
    """Run the command line."""
    app()

"""``lambdak reproduce``: the paper's studies, its figures, and published numbers next to ours."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lambdak.cli.errors import InputError, note
from lambdak.cli.outputs import say
from lambdak.paper.profiles import Profile
from lambdak.paper.protocols import Source, study_name

EXAMPLES = (
    "lambdak reproduce univariate --profile small",
    "lambdak reproduce univariate --profile full --workers 2",
    "lambdak reproduce higgs --data HIGGS.csv.gz --profile full",
    "lambdak reproduce univariate --protocol text",
    "lambdak reproduce cell --complexity 20 --dim 9 --noise 0.1",
    "lambdak reproduce compare",
    "lambdak reproduce summary --to tables",
    "lambdak reproduce figures --to pictures",
)
app = typer.Typer(
    name="reproduce",
    help="Reproduce the paper's studies, and compare our numbers with the published ones.",
    epilog="\n\n".join(["Examples:", *EXAMPLES]),
    no_args_is_help=True,
)


Size = Annotated[Profile, typer.Option("--profile", "-p", help="quick: seconds; small: minutes; full: the paper's.")]
AnySize = Annotated[
    Profile | None, typer.Option("--profile", "-p", help="Which profile; by default the largest that was run.")
]
Followed = Annotated[
    Source, typer.Option("--protocol", help="Where the paper's text and its released runs differ, which to follow.")
]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder of all results; a stopped study continues there.")]
Workers = Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes that train at the same time.")]
Scheduler = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler that runs the study instead.")
]
DataFile = Annotated[Path | None, typer.Option("--data", help="The data file: CSV or text, .gz or .zst, or Parquet.")]

_RESULTS = Path("paper-results")
_CPUS = os.cpu_count() or 1
_DAY = 86_400.0  # seconds


def _module(name: str) -> ModuleType:
    """A module of the studies, whose libraries may be missing."""
    try:
        return import_module(f"lambdak.paper.{name}")
    except ImportError as error:
        raise InputError(f"the paper's studies need more libraries: pip install 'lambdak[paper]' ({error})") from error


@app.command()
def univariate(
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    workers: Workers = _CPUS,
    dask: Scheduler = None,
) -> None:
    """Functions of one input: error against samples, dim, complexity, noise and monotonicity."""
    _synthetic(study_name("univariate", protocol), profile, out, workers, dask)


@app.command()
def bivariate(
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    workers: Workers = _CPUS,
    dask: Scheduler = None,
) -> None:
    """Functions of two inputs, monotone in the second or in neither."""
    _synthetic(study_name("bivariate", protocol), profile, out, workers, dask)


@app.command()
def scaling(
    profile: Size = Profile.SMALL, out: Folder = _RESULTS, workers: Workers = _CPUS, dask: Scheduler = None
) -> None:
    """Beyond the paper: dims up to 63, one and two inputs, for the law of error against dim and samples."""
    for name in ("univariate", "bivariate", "univariate-monotone", "bivariate-monotone"):
        _timed(f"{name}-scaling", profile, out, workers, dask)


@app.command()
def definite(
    profile: Size = Profile.SMALL, out: Folder = _RESULTS, workers: Workers = _CPUS, dask: Scheduler = None
) -> None:
    """Beyond the paper: four ways to keep two matrices semidefinite, on targets that rise in both inputs."""
    _timed("definite", profile, out, workers, dask)


@app.command()
def tridiagonal(
    profile: Size = Profile.SMALL, out: Folder = _RESULTS, workers: Workers = _CPUS, dask: Scheduler = None
) -> None:
    """Beyond the paper: tridiagonal matrices, to be compared with the dense ones of `scaling`."""
    for inputs in ("univariate", "bivariate"):
        _timed(f"{inputs}-tridiagonal", profile, out, workers, dask)


@app.command()
def start(
    profile: Size = Profile.SMALL, out: Folder = _RESULTS, workers: Workers = _CPUS, dask: Scheduler = None
) -> None:
    """Beyond the paper: the jitter and the gap of the start, from none to many times the paper's."""
    for name in _module("synthetic.grid").STARTS:
        _synthetic(name, profile, out, workers, dask)


@app.command()
def cell(
    complexity: Annotated[
        int, typer.Option("--complexity", "-c", help="Points per axis that a function goes through.")
    ],
    dim: Annotated[int, typer.Option("--dim", "-d", help="Size of the matrices.")],
    inputs: Annotated[int, typer.Option("--inputs", min=1, max=2, help="Of the functions: one or two.")] = 1,
    noise: Annotated[float, typer.Option("--noise", help="Standard deviation of that of the labels.")] = 0.0,
    fit: Annotated[
        str, typer.Option("--fit", help="general; or on monotone functions: free or monotone, which is the model.")
    ] = "general",
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
) -> None:
    """Run one cell of the grid of functions, and print its row beside the published number.

    A later `univariate` or `bivariate` of the same profile continues with the other cells.
    """
    study = ("univariate", "bivariate")[inputs - 1]
    results, module = _module("synthetic.results"), _module("output.compare")
    name = study_name(study, protocol)
    chosen = results.chosen_cell(name, profile.value, fit=fit, complexity=complexity, noise=noise, dim=dim)
    _watch(name, profile, out, results.run_one(name, profile.value, chosen, out), chosen.name)
    say(module.print_comparison([module.compare_cell(study, chosen, out, profile.value, protocol)]))


def _timed(name: str, profile: Profile, out: Path, workers: int, dask: str | None) -> None:
    _synthetic(name, profile, out, workers, dask)
    _module("synthetic.timing").time_study(name, profile.value, out)


def _synthetic(name: str, profile: Profile, out: Path, workers: int, dask: str | None) -> None:
    _watch(name, profile, out, _module("synthetic.results").run_study(name, profile.value, out, workers, dask))


@app.command()
def higgs(
    data: DataFile = None,
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    workers: Workers = 1,
    dask: Scheduler = None,
) -> None:
    """Log-loss on HIGGS against samples: linear model, MLPs and the spectral neuron."""
    _real(study_name("higgs", protocol), profile, out, data, workers, dask)


@app.command()
def criteo(
    data: DataFile = None,
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    workers: Workers = 1,
    dask: Scheduler = None,
) -> None:
    """Log-loss on Criteo against samples: linear model, factorisation machine and the spectral neuron."""
    _real(study_name("criteo", protocol), profile, out, data, workers, dask)


def _real(name: str, profile: Profile, out: Path, data: Path | None, workers: int, dask: str | None) -> None:
    module = _module("real.runs")
    steps = module.run_real(name, profile.value, out, data, workers, dask)
    begun = next(steps)
    say(module.about_data(out / f"{name}-{profile.value}"))
    _watch(name, profile, out, chain([begun], steps))


@app.command()
def influence(
    data: DataFile = None,
    profile: Size = Profile.SMALL,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    workers: Workers = 1,
    dask: Scheduler = None,
) -> None:
    """How much of its proven bound a change of one HIGGS feature uses; needs the HIGGS study and its data."""
    steps = _module("real.influence").run_influence(profile.value, out, data, protocol.value, workers, dask)
    _watch(study_name("influence", protocol), profile, out, steps)


@app.command()
def tightness(
    data: DataFile = None,
    profile: Size = Profile.SMALL,
    out: Folder = _RESULTS,
    workers: Workers = 1,
    dask: Scheduler = None,
) -> None:
    """Beyond the paper: a penalty on the norms of the matrices, its price on HIGGS and how tight it makes the bound."""
    steps = _module("real.tightness").run_tightness(profile.value, out, data, workers, dask)
    _watch("tightness", profile, out, steps)


def _watch(name: str, profile: Profile, out: Path, steps: Iterator[tuple[int, int]], part: str = "") -> None:
    """Show how far a study, or a part of it, has come, with the time left."""
    began, what = time.perf_counter(), f"{name} {part}".strip()
    with make_progress(what) as progress:
        bar = progress.add_task(what, total=None)
        for done, total in steps:
            progress.update(bar, completed=done, total=total)
    folder = out / f"{name}-{profile.value}"
    say(f"{what}: {profile.value} profile done in {time.perf_counter() - began:.0f} s; results in {folder}/")


def make_progress(name: str, get_time: Callable[[], float] | None = None) -> Progress:
    """A bar that guesses the time left from the pieces of a whole day, since an hour may lie between two of them."""
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, speed_estimate_period=_DAY, get_time=get_time)


@app.command()
def compare(profile: AnySize = None, protocol: Followed = Source.RELEASED, out: Folder = _RESULTS) -> None:
    """Print published numbers next to ours, cell by cell."""
    found, module = _some_studies(out, profile), _module("output.compare")
    say(module.print_comparison(module.compare(out, profile and profile.value, protocol)))
    say(f"Ours: {', '.join(found)}.")


def _some_studies(out: Path, profile: Profile | None) -> list[str]:
    found = _studies(out, profile)
    if not found:
        which = f" of the {profile} profile" if profile else ""
        raise InputError(f"{out} holds no studies{which}: run `lambdak reproduce`, or give their folder with --out")
    return found


def _studies(out: Path, profile: Profile | None) -> list[str]:
    """The names of the folders that are read."""
    return [folder.name for folder in _module("parts").find_studies(out, profile and profile.value)]


@app.command()
def summary(
    profile: AnySize = None,
    out: Folder = _RESULTS,
    to: Annotated[Path, typer.Option("--to", help="Folder for the tables.")] = Path("paper-tables"),
) -> None:
    """Write tables of all finished studies, as CSV and Markdown, and the scaling laws of those of `scaling`."""
    found, module = _some_studies(out, profile), _module("output.tables")
    written = module.write_tables(out, to, profile and profile.value)
    for folder in written.unfinished:
        note(f"{folder} has no table: it is not finished")
    say(f"{len(written.paths)} files in {to}/; studies: {', '.join(found)}")


@app.command()
def figures(
    profile: AnySize = None,
    protocol: Followed = Source.RELEASED,
    out: Folder = _RESULTS,
    to: Annotated[Path, typer.Option("--to", help="Folder for the pictures.")] = Path("paper-figures"),
    only: Annotated[list[str] | None, typer.Option("--only", help="Name of a figure; may be repeated.")] = None,
    released: Annotated[
        Path | None, typer.Option("--released", help="Folder of the authors' released results, to draw beside ours.")
    ] = None,
) -> None:
    """Draw every figure of the paper, as PNG and SVG, from the results that are there."""
    module = _module("output.figures")
    written = module.write_figures(module.Results(out, profile and profile.value, released, protocol), to, only)
    for name, reason in written.missing.items():
        note(f"{name} is not drawn: {reason}")
    say(f"{len(written.paths)} files in {to}/; studies: {', '.join(_studies(out, profile)) or 'none'}")

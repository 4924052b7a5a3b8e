"""The figures of the paper as PNG and SVG; nothing else of the paper's studies imports matplotlib.

- ``beyond``: Beyond the paper: scaling laws, parametrisations of semidefinite matrices, and tridiagonal against dense
  matrices.
- ``canvas``: What all figures of the paper share: sheets of panels, colours, and files that are the same in every
  run.
- ``influence``: How much of its proven bound a change of one HIGGS feature uses; what penalties on norms do to that
  and to the loss.
- ``neurons``: The neuron in pictures: diagrams, random ones of one input, and the ramp of squareplus.
- ``scaling``: Test error against samples: medians and quartiles of what validation selected, also for several starts.
- ``targets``: The random targets of the synthetic studies, and how slices are blended to one that is monotone in x_2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from lambdak.atomic import write_bytes
from lambdak.paper.output.figures.beyond import draw_definite, draw_laws, draw_tridiagonal
from lambdak.paper.output.figures.canvas import as_png, as_svg
from lambdak.paper.output.figures.influence import (
    draw_influence,
    draw_shells,
    draw_tightness,
    read_influence,
    read_tightness,
)
from lambdak.paper.output.figures.neurons import (
    draw_eigenvalues,
    draw_hyper_network,
    draw_monotone_eigenvalues,
    draw_neuron,
    draw_recurrence,
    draw_squareplus,
)
from lambdak.paper.output.figures.real import Losses, draw_dims, draw_models, read_losses
from lambdak.paper.output.figures.scaling import draw_general, draw_monotone, draw_starts, read_scalings
from lambdak.paper.output.figures.targets import draw_bivariate_targets, draw_slice_blending, draw_univariate_targets
from lambdak.paper.parts import study_folder
from lambdak.paper.protocols import Source, study_name
from lambdak.paper.synthetic.grid import BEYOND, STARTS, STUDIES
from lambdak.paper.synthetic.laws import read_curves
from lambdak.paper.synthetic.timing import read_times

__all__ = ["FIGURES", "Results", "Written", "write_figures"]


@dataclass(frozen=True)
class Results:
    """Results of studies that figures are drawn from.

    Parameters
    ----------
    folder
        Folder for all studies.
    profile
        "quick", "small" or "full"; None is the largest that is there.
    released
        Folder of the authors' released results, to be drawn beside ours.
    protocol
        "released" or "text", of the paper's studies.
    """

    folder: Path
    profile: str | None = None
    released: Path | None = None
    protocol: str = Source.RELEASED

    def study(self, name: str) -> Path:
        """The folder of a study beyond the paper."""
        return study_folder(self.folder, name, self.profile)

    def of_paper(self, name: str) -> Path:
        """The folder of one of the paper's studies."""
        return self.study(study_name(name, self.protocol))

    def losses(self, name: str) -> list[Losses]:
        """The curves on a data set."""
        return read_losses(self.of_paper(name), name, self.released)


Draw = Callable[[Results], Figure]


def _plain(draw: Callable[[], Figure]) -> Draw:
    return lambda results: draw()


def _general(study: str) -> Draw:
    return lambda results: draw_general(read_scalings(results.of_paper(study), ["general"]))


def _monotone(study: str) -> Draw:
    return lambda results: draw_monotone(read_scalings(results.of_paper(study), ["free", "monotone"]))


def _laws(results: Results) -> Figure:
    return draw_laws([curves for name in BEYOND if "scaling" in name for curves in read_curves(results.study(name))])


def _definite(results: Results) -> Figure:
    folder = results.study("definite")
    return draw_definite(read_scalings(folder, BEYOND["definite"].fits), read_times(folder))


def _tridiagonal(results: Results) -> Figure:
    found = []
    for name in STUDIES:
        dense, band = results.study(f"{name}-scaling"), results.study(f"{name}-tridiagonal")
        scalings = read_scalings(dense, ["general"]) | read_scalings(band, ["tridiagonal"])
        found.append((scalings, read_times(dense) | read_times(band)))
    return draw_tridiagonal(found)


def _starts(results: Results) -> Figure:
    return draw_starts({name: read_scalings(results.study(name), ["general"]) for name in STARTS})


# Missing results are a FileNotFoundError.
FIGURES: dict[str, Draw] = {
    "neuron": _plain(draw_neuron),
    "eigenvalues": _plain(draw_eigenvalues),
    "recurrence": _plain(draw_recurrence),
    "monotone-eigenvalues": _plain(draw_monotone_eigenvalues),
    "hyper-network": _plain(draw_hyper_network),
    "squareplus": _plain(draw_squareplus),
    "univariate-targets": _plain(draw_univariate_targets),
    "univariate-general": _general("univariate"),
    "univariate-monotone": _monotone("univariate"),
    "slice-blending": _plain(draw_slice_blending),
    "bivariate-targets": _plain(draw_bivariate_targets),
    "bivariate-general": _general("bivariate"),
    "bivariate-monotone": _monotone("bivariate"),
    "scaling-laws": _laws,
    "definite": _definite,
    "tridiagonal": _tridiagonal,
    "starts": _starts,
    "criteo-models": lambda results: draw_models(results.losses("criteo")),
    "criteo-dims": lambda results: draw_dims(results.losses("criteo"), ["spectral-continuous", "fm"]),
    "higgs-models": lambda results: draw_models(results.losses("higgs")),
    "higgs-dims": lambda results: draw_dims(results.losses("higgs"), ["spectral"]),
    "influence": lambda results: draw_influence(read_influence(results.of_paper("influence"))),
    "influence-shells": lambda results: draw_shells(read_influence(results.of_paper("influence"))),
    "tightness": lambda results: draw_tightness(read_tightness(results.study("tightness"))),
}


@dataclass(frozen=True)
class Written:
    """Files that were written, and for every figure that could not be drawn, why."""

    paths: tuple[Path, ...]
    missing: dict[str, str]


def write_figures(results: Results, out: Path, names: Iterable[str] | None = None) -> Written:
    """Draw figures and write each as PNG and SVG.

    Parameters
    ----------
    results
        What to draw from.
    out
        Folder of the pictures; made if it is not there.
    names
        Some of ``FIGURES``; None is all of them.
    """
    chosen = list(FIGURES) if names is None else list(names)
    for name in chosen:
        if name not in FIGURES:
            raise ValueError(f"names must be among {', '.join(FIGURES)}; got {name!r}")
    out.mkdir(parents=True, exist_ok=True)
    paths, missing = [], {}
    for name in chosen:
        try:
            figure = FIGURES[name](results)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        for path, data in ((out / f"{name}.svg", as_svg(figure)), (out / f"{name}.png", as_png(figure))):
            write_bytes(path, data)
            paths.append(path)
    return Written(tuple(paths), missing)

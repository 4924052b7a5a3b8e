"""The synthetic figures of the paper as PNG and SVG; nothing else of the paper's studies imports matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from lambdak.atomic import write_bytes
from lambdak.paper.figures.canvas import as_png, as_svg
from lambdak.paper.figures.diagrams import draw_hyper_network, draw_neuron, draw_recurrence
from lambdak.paper.figures.neurons import draw_eigenvalues, draw_monotone_eigenvalues, draw_squareplus
from lambdak.paper.figures.scaling import draw_general, draw_monotone, read_scalings
from lambdak.paper.figures.targets import draw_bivariate_targets, draw_slice_blending, draw_univariate_targets

__all__ = ["FIGURES", "Written", "write_figures"]

Draw = Callable[[Path, str], Figure]


def _plain(draw: Callable[[], Figure]) -> Draw:
    return lambda results, profile: draw()


def _general(study: str) -> Draw:
    return lambda results, profile: draw_general(read_scalings(results / f"{study}-{profile}", ["general"]))


def _monotone(study: str) -> Draw:
    return lambda results, profile: draw_monotone(read_scalings(results / f"{study}-{profile}", ["free", "monotone"]))


# Name ─▶ function of the folder that holds the studies and of the profile; missing results are a FileNotFoundError.
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
}


@dataclass(frozen=True)
class Written:
    """Files that were written, and for every figure that could not be drawn, why."""

    paths: tuple[Path, ...]
    missing: dict[str, str]


def write_figures(results: Path, out: Path, names: Iterable[str] | None = None, profile: str = "full") -> Written:
    """Draw figures and write each as PNG and SVG.

    Parameters
    ----------
    results
        Folder for all studies.
    out
        Folder of the pictures; made if it is not there.
    names
        Some of ``FIGURES``; None is all of them.
    profile
        "quick", "small" or "full": which results to draw.
    """
    chosen = list(FIGURES) if names is None else list(names)
    for name in chosen:
        if name not in FIGURES:
            raise ValueError(f"names must be among {', '.join(FIGURES)}; got {name!r}")
    out.mkdir(parents=True, exist_ok=True)
    paths, missing = [], {}
    for name in chosen:
        try:
            figure = FIGURES[name](results, profile)
        except FileNotFoundError as error:
            missing[name] = str(error)
            continue
        for path, data in ((out / f"{name}.svg", as_svg(figure)), (out / f"{name}.png", as_png(figure))):
            write_bytes(path, data)
            paths.append(path)
    return Written(tuple(paths), missing)

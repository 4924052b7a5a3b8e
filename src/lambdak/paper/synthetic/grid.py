"""The grids of the synthetic studies: which models are trained on which targets, and when they are measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lambdak.paper.profiles import PROFILES
from lambdak.paper.protocols import CONVENTIONS, Conventions, Source, study_name


class Fit(NamedTuple):
    """Which kind of target, which model, and the constraints of the matrices of its last inputs."""

    target: str
    model: str
    constraints: tuple[str, ...] = ()


FITS = {  # a cell's random numbers depend on its position here: new fits come last
    "general": Fit("general", "free"),
    "free": Fit("monotone", "free"),
    "monotone": Fit("monotone", "monotone", ("diagonal",)),
    "rising-free": Fit("rising", "free"),
    "rising-diagonal": Fit("rising", "diagonal", ("diagonal",) * 2),
    "rising-factor": Fit("rising", "factor", ("factor",) * 2),
    "rising-root": Fit("rising", "root", ("root",) * 2),
    "rising-squareplus": Fit("rising", "squareplus", ("squareplus",) * 2),
    "tridiagonal": Fit("general", "tridiagonal"),
}


@dataclass(frozen=True)
class Cell:
    """One entry of the result tables: all targets, seeds and rates of it are trained at once."""

    inputs: int
    fit: str
    complexity: int
    noise: float
    dim: int

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.inputs}-{self.fit}-c{self.complexity}-noise{self.noise:g}-d{self.dim}"


@dataclass(frozen=True)
class Grid:
    """A study: cells times targets times seeds times rates."""

    inputs: int
    complexities: tuple[int, ...]
    dims: tuple[int, ...] = (5, 9, 15)
    noises: tuple[float, ...] = (0.0, 0.1)
    fits: tuple[str, ...] = ("general", "free", "monotone")
    targets: int = 32
    seeds: int = 3
    rates: tuple[float, ...] = tuple(np.geomspace(1e-4, 1e-1, 8).tolist())
    checkpoints: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
    batch: int = 32
    measured: int = 4096  # validation points
    tested: int = 0  # test points; as many if 0
    protocol: str = "own"  # of CONVENTIONS
    jitter: float = 1.0  # factor on that of the start
    gap: float = 1.0  # around the eigenvalue that is read, at the start

    def cells(self) -> Iterator[Cell]:
        """The cells, the largest matrices first, so that a progress bar errs on the safe side."""
        for dim, fit, complexity, noise in product(
            sorted(self.dims, reverse=True), self.fits, self.complexities, self.noises
        ):
            yield Cell(self.inputs, fit, complexity, noise, dim)

    @property
    def models(self) -> int:
        """Models of one cell."""
        return self.targets * self.seeds * len(self.rates)

    @property
    def conventions(self) -> Conventions:
        """What the text of the paper and its released runs do differently."""
        return CONVENTIONS[self.protocol]

    def to_dict(self) -> dict[str, object]:
        """The configuration as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Grid:
        """The grid from plain data that went through JSON.

        >>> Grid.from_dict({"inputs": 1, "complexities": [5, 10]}) == Grid(1, (5, 10))
        True
        """
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
        return cls(**values)


_SMALL = {"targets": 8, "seeds": 2, "checkpoints": (1, 10, 100, 500, 1000, 2000), "measured": 1024, "tested": 0}
_QUICK = {
    "targets": 2, "seeds": 1, "rates": (1e-3, 1e-2, 1e-1), "checkpoints": (1, 10, 60), "measured": 64, "tested": 0,
    "dims": (3, 5),
}  # fmt: skip

STUDIES = {
    "univariate": Grid(1, (5, 10, 20), protocol="released"),
    "bivariate": Grid(2, (5, 9, 13), protocol="released"),
}
AS_WRITTEN = {
    study_name(name, Source.TEXT): replace(grid, protocol="text", tested=10_000) for name, grid in STUDIES.items()
}
_FEWER: dict[str, Any] = {"targets": 12, "seeds": 1, "rates": (0.001, 0.003, 0.01, 0.03), "measured": 2048}
_LARGER: dict[str, Any] = _FEWER | {"dims": (5, 9, 15, 31, 63), "fits": ("general",)}
_RAISED: dict[str, Any] = _LARGER | {"fits": ("free", "monotone"), "noises": (0.0,)}
# 2d − 1 numbers per matrix: 8, 23 and 60 have as many (60 one less) as dense matrices of dim 5, 9 and 15.
_BANDS: dict[str, Any] = _FEWER | {"dims": (8, 15, 23, 60, 127), "fits": ("tridiagonal",)}
_RISING: dict[str, Any] = _FEWER | {"rates": (*_FEWER["rates"], 0.1), "checkpoints": Grid.checkpoints[:-1]}
_STARTED: dict[str, Any] = _FEWER | {"fits": ("general",), "noises": (0.0,)}
STARTS = {  # factors on the paper's jitter and gap
    f"start-{jitter:g}-{gap:g}": Grid(1, (5, 10, 20), jitter=jitter, gap=gap, **_STARTED)
    for jitter, gap in ((0.0, 1.0), (1.0, 1.0), (4.0, 1.0), (16.0, 1.0), (1.0, 0.25), (1.0, 4.0))
}
BEYOND = {  # the paper
    "univariate-scaling": Grid(1, (20,), **_LARGER),
    "bivariate-scaling": Grid(2, (13,), **_LARGER),
    "univariate-monotone-scaling": Grid(1, (20,), **_RAISED),
    "bivariate-monotone-scaling": Grid(2, (13,), **_RAISED),
    "definite": Grid(2, (9,), fits=tuple(fit for fit in FITS if fit.startswith("rising")), **_RISING),
    "univariate-tridiagonal": Grid(1, (20,), **_BANDS),
    "bivariate-tridiagonal": Grid(2, (13,), **_BANDS),
    **STARTS,
}


def study(name: str, profile: str) -> Grid:
    """The grid of a study: quick takes seconds, small minutes, full is the paper's, or as large as its own."""
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {PROFILES}; got {profile!r}")
    known = STUDIES | AS_WRITTEN | BEYOND
    if name not in known:
        raise ValueError(f"name must be one of {tuple(known)}; got {name!r}")
    grid = known[name]
    if profile == "quick":
        return replace(grid, **_QUICK, complexities=grid.complexities[:1])  # type: ignore[arg-type]
    return replace(grid, **_SMALL) if profile == "small" else grid  # type: ignore[arg-type]

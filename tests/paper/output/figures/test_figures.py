"""The figures of the paper: each is drawn from results or by itself, and the same every time.

Tests ``canvas``, ``diagrams`` and ``starts``.
"""

from __future__ import annotations

import re
import shutil
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")

from lambdak.paper.output.figures import canvas, neurons, scaling  # noqa: E402


@pytest.mark.slow
def test_figures_are_written_as_png_and_svg(all_studies, tmp_path):
    names = ["univariate-general", "bivariate-targets"]
    written = figures.write_figures(figures.Results(all_studies, "quick"), tmp_path / "pictures", names)
    assert written.missing == {}
    assert {path.name for path in written.paths} == {f"{name}.{end}" for name in names for end in ("png", "svg")}
    for path in written.paths:
        start = path.read_bytes()[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else start.startswith(b"<?xml")
        assert path.stat().st_size < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_can_be_drawn_and_is_no_empty_sheet(all_studies, name):
    figure = figures.FIGURES[name](figures.Results(all_studies, "quick"))
    figure.savefig(file := BytesIO(), format="raw", dpi=25)
    pixels = np.frombuffer(file.getvalue(), np.uint8).reshape(-1, 4)[:, :3]
    assert 0.02 < (pixels.min(axis=1) < 240).mean() < 0.98


def test_what_has_no_results_is_reported_and_the_rest_is_written(tmp_path):
    names = ["squareplus", "univariate-general"]
    written = figures.write_figures(figures.Results(tmp_path), tmp_path / "pictures", names)
    assert [path.stem for path in written.paths] == ["squareplus"] * 2
    assert list(written.missing) == ["univariate-general"]
    assert "lambdak reproduce" in written.missing["univariate-general"]


def test_a_toy_figure_is_a_function_and_one_line(tmp_path, monkeypatch):
    def draw(results):
        figure = canvas.sheet(2, 1)
        canvas.panels(figure, 1, 1)
        return figure

    monkeypatch.setitem(figures.FIGURES, "toy", draw)
    written = figures.write_figures(figures.Results(tmp_path), tmp_path / "pictures", ["toy"])
    assert {path.name for path in written.paths} == {"toy.png", "toy.svg"}


@pytest.mark.slow
def test_a_study_that_is_not_finished_is_not_drawn(all_studies, tmp_path):
    folder = tmp_path / "univariate-quick"
    shutil.copytree(all_studies / "univariate-quick", folder)
    next((folder / "parts").glob("1-general-*")).unlink()
    written = figures.write_figures(figures.Results(tmp_path), tmp_path, ["univariate-general", "univariate-monotone"])
    assert "lacks 1 of 4 cells" in written.missing["univariate-general"]
    assert [path.stem for path in written.paths] == ["univariate-monotone"] * 2
    shutil.rmtree(folder / "parts")
    with pytest.raises(FileNotFoundError, match="lacks all cells"):
        scaling.read_scalings(folder, ["general"])


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match="names must be among neuron"):
        figures.write_figures(figures.Results(tmp_path), tmp_path, ["everything"])


@pytest.mark.slow
def test_the_same_figure_is_the_same_file():
    assert canvas.as_svg(neurons.draw_squareplus()) == canvas.as_svg(neurons.draw_squareplus())
    assert not re.search(rb"<dc:date>", canvas.as_svg(neurons.draw_squareplus()))

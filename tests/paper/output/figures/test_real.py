"""The curves on HIGGS and Criteo, drawn from invented results that tell their runs apart."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib").use("Agg")
import pyarrow.parquet as pq  # noqa: E402
from paper_files import loss, write_influence, write_real_results  # noqa: E402

from lambdak.paper.output import figures  # noqa: E402
from lambdak.paper.output.figures import real  # noqa: E402
from lambdak.paper.output.published import read_released  # noqa: E402
from lambdak.paper.real.protocol import DATASETS, REAL_STUDIES, real_protocol  # noqa: E402

SAMPLES = real_protocol("higgs", "quick").samples
MLPS = {3: (6, 5, 4), 7: (27, 17, 14)}  # widths of the released runs


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Files like the authors': the phase of tuning has losses that must not be drawn."""
    folder = tmp_path_factory.mktemp("released")
    for name, protocol in ((name, REAL_STUDIES[name]) for name in DATASETS):
        keys = [(model, dim) for model in protocol.models for dim in ((0,) if "linear" in model else (3, 7, 11))]
        rows = [
            {"phase": phase, "model": model, "dim": dim, "lr": 0.1, "train_size": n, "val_logloss": np.nan,
             "test_logloss": 0.5 + seed / 100 if phase == "evaluation" else 0.1}
            for model, dim in keys for phase in ("tuning", "evaluation") for n in (4096, 2**26) for seed in range(3)
        ]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}_scaling.parquet")
    return folder


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def expected(model, dim):
    """Medians of the rate that validation chooses, which is the lower one."""
    return [loss(model, dim, 0.01, 1, n) + 0.05 for n in SAMPLES]


def test_every_panel_shows_the_models_of_its_dim_and_their_sizes(real_results):
    axes = real.draw_models(figures.Results(real_results, "quick").losses("higgs")).axes
    assert [ax.get_title() for ax in axes] == [f"d = {d}: ours, 1,600 rows, batches of 128" for d in (3, 7)]
    for ax, dim in zip(axes, (3, 7), strict=True):
        drawn = lines(ax)
        names = [f"MLP-{depth}, width {width}" for depth, width in enumerate(MLPS[dim], 1)]
        assert list(drawn) == [
            *(f"{name}, {1000 + dim:,} parameters" for name in ["spectral neuron", *names]), "linear, 1,000 parameters",
        ]  # fmt: skip
        for line, model in zip(drawn.values(), REAL_STUDIES["higgs"].models, strict=True):
            assert line.get_xdata().tolist() == list(SAMPLES)
            np.testing.assert_allclose(line.get_ydata(), expected(model, 0 if model == "linear" else dim))
        assert len({(line.get_color(), line.get_marker()) for line in drawn.values()}) == 5
        band = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert band.max() - max(expected("spectral", dim)) == pytest.approx(0.5e-5)


def test_every_model_of_criteo_is_in_the_picture(real_results):
    for ax in real.draw_models(figures.Results(real_results, "quick").losses("criteo")).axes:
        assert len(ax.lines) == len(REAL_STUDIES["criteo"].models)


def test_dims_stand_beside_each_other(real_results):
    axes = real.draw_dims(figures.Results(real_results, "quick").losses("criteo"), ["spectral-continuous", "fm"]).axes
    for ax, model in zip(axes, ("spectral-continuous", "fm"), strict=True):
        assert list(lines(ax)) == ["d = 3", "d = 7"]
        np.testing.assert_allclose(lines(ax)["d = 7"].get_ydata(), expected(model, 7))


def test_released_curves_are_drawn_below_ours_on_the_same_scales(real_results, released):
    results = figures.Results(real_results, "quick", released)
    axes = figures.FIGURES["higgs-models"](results).axes
    assert [ax.get_title() for ax in axes[2:]] == [
        f"d = {d}: published, 10,000,000 rows, batches of 4096" for d in (3, 7)
    ]
    for line in axes[3].lines:
        assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([4096, 2**26], [0.51, 0.51])
    assert len({ax.get_ylim() for ax in axes}) == len({ax.get_xlim() for ax in axes}) == 1
    assert list(lines(figures.FIGURES["higgs-dims"](results).axes[1])) == ["d = 3", "d = 7", "d = 11"]


def test_a_folder_without_released_results_is_an_error(real_results, tmp_path):
    written = figures.write_figures(figures.Results(real_results, "quick", tmp_path), tmp_path, ["criteo-dims"])
    assert "there is no" in written.missing["criteo-dims"]
    with pytest.raises(FileNotFoundError, match="released results"):
        read_released(tmp_path / "higgs_scaling.parquet")


def test_what_overfits_leaves_the_picture_and_does_not_squeeze_the_others(real_results):
    (found,) = figures.Results(real_results, "quick").losses("higgs")
    worst = found.curves["mlp-3", 3]
    worst[-1] = type(worst[-1])(**{**vars(worst[-1]), "median": 5.0, "high": 9.0})
    low, high = real.draw_models([found]).axes[0].get_ylim()
    assert low < min(expected("spectral", 3)) < max(expected("mlp-3", 3)) < high < 1


def test_an_unfinished_study_says_what_to_run(real_results, tmp_path):
    folder = write_real_results(tmp_path, "higgs")
    for each in (folder, write_influence(tmp_path)):
        (each / "results.parquet").unlink()
    written = figures.write_figures(figures.Results(tmp_path), tmp_path, ["higgs-models", "influence", "criteo-models"])
    assert "to its end" in written.missing["higgs-models"]
    assert "lambdak reproduce influence" in written.missing["influence"]
    assert "holds no study" in written.missing["criteo-models"]
    assert written.paths == ()


def test_runs_that_follow_the_text_are_drawn_when_it_is_said(tmp_path):
    write_real_results(tmp_path, "higgs-text", "small")
    (found,) = figures.Results(tmp_path, protocol="text").losses("higgs")
    assert found.source == "ours, 1,600 rows, batches of 256"

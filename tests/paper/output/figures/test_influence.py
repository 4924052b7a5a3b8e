"""The tightness of the influence bound, as histograms and by the size of the change."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib").use("Agg")
from paper_files import write_influence, write_real_results  # noqa: E402

from lambdak.paper.output import figures  # noqa: E402
from lambdak.paper.output.figures import influence  # noqa: E402
from lambdak.paper.parts import read_results  # noqa: E402


@pytest.fixture(scope="module")
def rows(real_results):
    """Counts (rows, bins) and all else of the results, by pandas."""
    table = read_results(real_results / "influence-quick").to_pandas()
    return table, np.stack(table["counts"])


def test_histograms_show_the_share_of_changes_of_every_feature_and_dim(real_results, rows):
    axes = influence.draw_influence(influence.read_influence(real_results / "influence-quick")).axes
    assert len(axes) == 28
    assert (axes[0].get_title(), axes[-1].get_title()) == ("lepton transverse momentum", "invariant mass wwbb")
    table, counts = rows
    for feature, ax in enumerate(axes):
        for dim, steps in zip((3, 7), ax.patches[::2], strict=True):
            own = counts[(table["dim"] == dim) & (table["feature"] == feature)].sum(axis=0)  # models and shells
            np.testing.assert_allclose(steps.get_data().values, own / own.sum())
    texts = [text.get_text() for text in axes[0].get_figure().legends[0].texts]
    assert all("largest 0.90000" in text for text in texts)
    assert [text.split(",")[0] for text in texts] == ["d = 3", "d = 7"]


def test_shells_show_the_mean_ratio_by_the_size_of_the_change(real_results, rows):
    left, right = influence.draw_shells(influence.read_influence(real_results / "influence-quick")).axes
    table, counts = rows
    for dim, line in zip((3, 7), left.lines, strict=True):
        own = table[table["dim"] == dim]
        total = own.assign(count=counts[table["dim"] == dim].sum(axis=1)).groupby("shell")[["sums", "count"]].sum()
        np.testing.assert_allclose(line.get_ydata(), total["sums"] / total["count"])
        np.testing.assert_allclose(line.get_xdata(), (np.arange(16) + 0.5) / 32)
    assert all((line.get_ydata() == 0.9).all() for line in right.lines)


def test_the_profile_that_was_run_is_found_though_a_larger_study_of_higgs_is_there(tmp_path):
    write_real_results(tmp_path, "higgs", "full")
    write_influence(tmp_path, profile="small")
    written = figures.write_figures(figures.Results(tmp_path), tmp_path, ["influence", "influence-shells"])
    assert written.missing == {}
    write_influence(tmp_path, "influence-text")
    assert figures.Results(tmp_path, protocol="text").of_paper("influence").name == "influence-text-quick"

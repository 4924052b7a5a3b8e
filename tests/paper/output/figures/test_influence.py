"""The tightness of the influence bound, as histograms."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib").use("Agg")

from lambdak.paper.output.figures import influence  # noqa: E402


def test_histograms_show_the_share_of_rows_of_every_feature_and_dim(real_results):
    table = influence.read_influence(real_results / "higgs-quick")
    axes = influence.draw_influence(table).axes
    assert len(axes) == 28
    assert (axes[0].get_title(), axes[-1].get_title()) == ("lepton transverse momentum", "invariant mass wwbb")
    rows = table.to_pandas()
    for feature, ax in enumerate(axes):
        for dim, steps in zip((3, 7), ax.patches[::2], strict=True):
            counts = rows[(rows["dim"] == dim) & (rows["feature"] == feature)]["count"].to_numpy()
            np.testing.assert_allclose(steps.get_data().values, counts / counts.sum())
    assert [text.get_text() for text in axes[0].get_figure().legends[0].texts] == [
        "d = 3, largest 0.90000", "d = 7, largest 0.90000",
    ]  # fmt: skip

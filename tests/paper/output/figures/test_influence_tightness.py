"""Log-loss against the tightness of the bound."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib").use("Agg")
from paper_files import loss  # noqa: E402

from lambdak.paper.output.figures.influence import draw_tightness, read_tightness  # noqa: E402

STRENGTHS = (0.0, 0.01, 0.1)


def test_there_is_a_line_per_dim_through_the_strengths(real_results):
    found = read_tightness(real_results / "tightness-quick")
    left, right = draw_tightness(found).axes
    assert left.get_legend_handles_labels()[1] == ["d = 3", "d = 7"]
    lines = [[bars.lines[0] for bars in ax.containers] for ax in (left, right)]
    for dim, mean, norms in zip((3, 7), *lines, strict=True):
        assert mean.get_xdata() == pytest.approx([0.5 - dim / 100 + each for each in STRENGTHS])
        assert norms.get_xdata() == pytest.approx([9.0 - 50 * each for each in STRENGTHS])
        losses = [loss("spectral", dim, 0.01, 0, 2**12) + 0.5e-5 + each + 0.05 for each in STRENGTHS]
        assert mean.get_ydata() == pytest.approx(losses)
    assert [text.get_text() for text in left.texts] == ["0", "0.01", "0.1"] * 2

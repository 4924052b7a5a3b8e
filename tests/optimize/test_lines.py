"""Lines below and above links.

Tests ``bounded``.
"""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.losses.links import IDENTITY, LOG, LOGIT, SOFTMAX
from lambdak.optimize.minimum.bounded import above, below


@pytest.mark.parametrize("link", [IDENTITY, LOG, LOGIT], ids=lambda link: link.name)
@pytest.mark.parametrize("scale", [1e-9, 0.1, 1.0, 10.0, 60.0])
def test_lines_are_on_their_side_of_the_link_everywhere(link, scale):
    rng = np.random.default_rng(0)
    low = scale * rng.normal(size=300)
    high = low + scale * rng.exponential(size=300) * rng.choice([0.0, 1e-6, 1.0], 300)
    s = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 101)
    seen = link.predictions(s[..., None])[..., 0]
    under, over = below(link, low, high), above(link, low, high)
    assert (under.b >= 0).all()
    assert (over.b >= 0).all()
    assert (under.a[:, None] + under.b[:, None] * s <= seen + 1e-15 * np.abs(seen)).all()
    assert (over.a[:, None] + over.b[:, None] * s >= seen - 1e-15 * np.abs(seen)).all()


@pytest.mark.parametrize("link", [LOG, LOGIT], ids=lambda link: link.name)
def test_lines_come_closer_with_the_square_of_the_interval(link):
    middle, gaps = np.linspace(-3, 3, 25), []
    for width in (0.2, 0.1):
        s = middle[:, None] + width * np.linspace(-0.5, 0.5, 41)
        seen = link.predictions(s[..., None])[..., 0]
        lower, upper = (make(link, s[:, 0], s[:, -1]) for make in (below, above))
        lines = (upper.a - lower.a)[:, None] + (upper.b - lower.b)[:, None] * s
        assert (lines >= -1e-12).all()
        gaps.append(np.max(lines[np.abs(middle) > 0.2] / seen[np.abs(middle) > 0.2]))
    assert gaps[1] < 0.3 * gaps[0]


def test_a_link_of_several_scores_has_no_line():
    with pytest.raises(ValueError, match="softmax"):
        below(SOFTMAX, np.zeros(1), np.ones(1))

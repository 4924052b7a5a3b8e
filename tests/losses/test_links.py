"""Links: predictions from raw scores, and identity after pickling."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.special import expit, softmax

from lambdak.losses.links import IDENTITY, LOG, LOGIT, SOFTMAX

LINKS = {"identity": IDENTITY, "log": LOG, "logit": LOGIT, "softmax": SOFTMAX}
INVERSES = {"identity": np.array, "log": np.exp, "logit": expit, "softmax": lambda r: softmax(r, axis=-1)}


@pytest.mark.parametrize("name", LINKS)
def test_predictions_are_those_of_scipy(name):
    scores = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(LINKS[name].predictions(scores), INVERSES[name](scores), rtol=1e-14)


@pytest.mark.parametrize("name", LINKS)
def test_there_is_one_link_of_each_name_in_every_process(name):
    link = LINKS[name]
    assert link.name == name
    assert pickle.loads(pickle.dumps(link)) is link
    assert deepcopy(link) is link


def test_only_softmax_needs_all_raw_scores():
    assert [link.joint for link in LINKS.values()] == [False, False, False, True]

r"""From bounds on raw scores to bounds on predictions, for every row.

If log-odds move by at most Δ, a probability moves by at most tanh(Δ / 4): F(r + Δ) − F(r) is largest in the middle, at
r = −Δ / 2. The log-odds of one of several classes are its raw score minus a smooth maximum of the others, which moves
by no more than they do. With a logarithmic link predictions change by a factor of e^Δ at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lambdak.model import Model
from lambdak.model.influence import of_outputs
from lambdak.model.readout import Readout
from lambdak.pencil.definite import UNIT

_OUTWARDS = 1 + 1e-14  # covers the rounding of tanh and exp, of which a few units in the last place are known
_TINY = 1e-300
_LARGEST = 700.0  # beyond, its exponential is no float


def score_bound(readout: Readout, bound: float, offset: float) -> float:
    """A bound on the change of computed raw scores, from one on that of the real function, with offsets of this size.

    The sums of two scores and an offset are rounded by u (|score| + |offset|) each, and the error of a readout, which
    is larger than u |score|, covers the former.
    """
    own = of_outputs(readout, bound)
    return own + 2 * readout.error + 4 * UNIT * offset if own and offset else own


def prediction_bound(model: Model, scores: Sequence[float]) -> float:
    """The most by which a prediction of any row changes if raw scores change by at most this much, one for each output.

    Of the probability of any class, of P(y ≤ j) for ordered classes; with a logarithmic link it is a factor minus one.
    """
    link, most = model.loss.link, max(scores)
    if link.name == "identity":
        return most
    if link.name == "log":
        if most > _LARGEST:
            return math.inf
        return _OUTWARDS * math.expm1(most) + 4 * link.rounding * math.exp(most) if most else 0.0
    if link.joint:
        ordered = sorted(scores, reverse=True)
        most = _OUTWARDS * (ordered[0] + ordered[1])
    if not most:
        return 0.0
    return min(1.0, _OUTWARDS * math.tanh(most / 4) + 2 * link.rounding + _TINY)

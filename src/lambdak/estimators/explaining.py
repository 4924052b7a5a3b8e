"""Methods of a fitted estimator that prove and explain: the work is done by ``certify`` and ``explain``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lambdak.estimators.fitted import Fitted
from lambdak.model.influence import strengths

if TYPE_CHECKING:
    from lambdak.certify import Certificate, Verification
    from lambdak.explain import GlobalExplanation, LocalExplanation


class Explaining(Fitted):
    """What a model guarantees, what its columns do, and why rows are predicted as they are."""

    @property
    def feature_strengths_(self) -> NDArray[np.float64]:
        """Proven bound on what each column can do: no change of it, however large, moves a raw score by more.

        It is max Σ_m w_m ‖A_m(b) − A_m(a)‖₂ over all cells a, b of the column. A column that is not clamped counts by
        its training range.
        """
        return strengths(self._fitted)

    def certify(self, within: Mapping[str, float | str] | None = None, *, exact: bool = False) -> Certificate:
        """Everything that is guaranteed, with the numbers that prove it: see :func:`lambdak.certify.certify`.

        ``within`` gives tolerances of columns, such as ``{"income": 1000}``: the certificate then bounds the response
        to any change within them. ``exact`` decides every statement in integers.
        """
        from lambdak.certify import certify

        return certify(self._fitted, within, exact)

    def verify(
        self, X: Any, n: int = 10_000, random_state: int = 0, within: Mapping[str, float | str] | None = None
    ) -> Verification:
        """Search for a counterexample to the certificate, around the rows of X: see :func:`lambdak.certify.verify`."""
        from lambdak.certify import verify

        return verify(self._fitted, X, n, random_state, within)

    def explain_global(self, X: Any = None, *, output: Any = None) -> GlobalExplanation:
        """What each column does to the model: see :func:`lambdak.explain.explain_global`."""
        from lambdak.explain import explain_global

        return explain_global(self._fitted, X, output)

    def explain_local(self, X: Any, baseline: Any = None, *, output: Any = None) -> LocalExplanation:
        """Why the rows of X are predicted as they are: see :func:`lambdak.explain.explain_local`.

        One row may also be a mapping of column to cell, or a pandas Series such as ``X.iloc[0]``.
        """
        from lambdak.explain import explain_local

        return explain_local(self._fitted, X, baseline, output, self._target)

"""How the statements about one model are decided: in which arithmetic, and how much integers may do for all of them."""

from __future__ import annotations

from typing import NamedTuple

from lambdak.pencil.exact import DOUBTS, Work

_EXACT = 1e8  # work, if all is to be decided in integers: some minutes


class Allowance(NamedTuple):
    """Whether all is decided in integers, or only where float64 leaves a doubt, and how much these may do.

    Promises have an allowance of their own, so that ``load``, which proves only these, says the same as ``certify``.
    """

    exact: bool
    promises: Work
    others: Work

    @classmethod
    def of(cls, exact: bool = False) -> Allowance:
        """The allowance of one model."""
        most = _EXACT if exact else DOUBTS
        return cls(exact, Work(most), Work(most))

    def work(self, requested: bool) -> Work:
        """What integers may do about a claim that was requested, or was not."""
        return self.promises if requested else self.others

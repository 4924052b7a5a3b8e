"""One statement about a model, and how far it goes."""

from __future__ import annotations

from dataclasses import dataclass, field

from lambdak.table.shown import Shown

IN_RANGE = "within the training range"  # how far a bound goes if its column is not constant beyond
TOO_LONG = "undecided: to decide it in integers would take too long"  # how a claim was checked if it was not
TOO_ROUGH = "but computing a raw score can err by"
BOUNDS = ("influence", "joint influence", "response")  # kinds of claims whose value holds for what is computed


@dataclass(frozen=True, repr=False)
class Claim(Shown):
    """One statement about a model.

    Attributes
    ----------
    kind : str
        "monotone", "convex", "concave", "influence", "joint influence", "response", "quantiles", "cut-points" or
        "interactions".
    subject : str
        The column, or the columns, it is about.
    statement : str
        The claim in words.
    proven, requested : bool
        Whether the matrices prove it, and whether the model was fitted to keep it. What is not proven may still be
        true: there need not be a counterexample.
    value : float or None
        A smallest eigenvalue, as it was computed, or a proven bound, in units of the raw score. That of "convex" and
        "concave" is a change of slope: raw score per unit of the column.
    margin : float or None
        The most by which a raw score that is computed can differ from the real function of the stored numbers, which
        the claim is about. A bound in ``value`` holds for what is computed: twice the margin is included.
    how : str
        How it was checked.
    details : dict
        Further numbers.
    """

    kind: str
    subject: str
    statement: str
    proven: bool
    requested: bool
    value: float | None
    margin: float | None
    how: str
    details: dict[str, float | str] = field(default_factory=dict)


def undecided(verdict: bool | None) -> str:
    """What is added to how a claim was checked: that it was not decided, if the verdict is None."""
    return f"; {TOO_LONG}" if verdict is None else ""

"""How much of a study is run, and with which constants all models are trained."""

from enum import StrEnum

from lambdak.eigen.engine import AdamConstants


class Profile(StrEnum):
    """Quick takes seconds, small minutes, full is the paper's."""

    QUICK = "quick"
    SMALL = "small"
    FULL = "full"


PROFILES = tuple(profile.value for profile in Profile)  # the smallest first

PYTORCH_ADAM = AdamConstants(beta1=0.9, beta2=0.999, tiny=1e-8)  # its defaults, as in the paper

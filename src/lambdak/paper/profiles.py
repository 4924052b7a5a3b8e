"""How much of a study is run."""

from enum import StrEnum


class Profile(StrEnum):
    """Size of a study: quick takes seconds, small minutes, full is the paper's."""

    QUICK = "quick"
    SMALL = "small"
    FULL = "full"


PROFILES = tuple(profile.value for profile in Profile)  # the smallest first

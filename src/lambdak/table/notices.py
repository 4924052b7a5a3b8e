"""Warnings that point at the user's own line, however deep in the library their reason is found."""

from __future__ import annotations

import sys
import warnings

_INSIDE = ("lambdak", "sklearn")  # a pipeline or a search lies between the user and an estimator


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the call that led here from outside of the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

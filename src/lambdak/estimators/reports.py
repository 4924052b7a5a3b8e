"""Reports about several estimators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lambdak.estimators.methods import ModelMethods


def compare_report(
    path: str | os.PathLike[str], models: Mapping[str, ModelMethods], X: Any = None, y: Any = None, **options: Any
) -> Path:
    """Write one HTML file in which two models run side by side, and return its path.

    Parameters
    ----------
    path : path
        The HTML file.
    models : mapping
        Two fitted estimators that predict the same, by their names.
    X, y, options
        As in :meth:`~lambdak.SpectralRegressor.report`: rows to start from, and ``X_test`` and ``y_test``, which
        neither fit has seen, to measure both on.

    Examples
    --------
    >>> import lambdak
    >>> lambdak.compare_report("both.html", {"plain": plain, "monotone": monotone}, X, y)  # doctest: +SKIP
    """
    from lambdak.report.comparison import Rival, write_comparison

    rivals = [Rival(name, own._fitted, **own._reported()) for name, own in models.items()]
    return write_comparison(rivals, path, X, y, **options)

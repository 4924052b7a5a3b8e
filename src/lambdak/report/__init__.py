"""Documents about a fitted model: a page in which it runs, with no server and no network, a dossier and a model card.

Modules: ``findings/`` what is computed, each finding once; ``sections/`` findings in words, one file per topic;
``document`` sections of paragraphs, tables and pictures as data, with ``amounts`` and ``pictures``; ``html``,
``markdown``, ``word`` write it. ``subject`` what a document is about: model, rows, words of the owner;
``live_page`` the report, ``payload`` and ``constants`` what its scripts read, ``comparison`` two models in one
page; ``dossier`` one document for validators, ``card`` the model card; ``page/`` what runs in the browser:
``svg.js``, ``number_scale.js``, ``axes.js``, ``charts.js``, ``plots.js`` pictures,
``shares.js`` of columns in a prediction, ``rows.js`` to start from, ``goals.js`` what is to be reached, ``changes.js``
the search for small changes, ``compare.js`` two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak.atomic import write_text
from lambdak.certify import Certificate
from lambdak.governance.performance.bootstrap import RESAMPLES
from lambdak.model import Model
from lambdak.report.findings import Options, report_findings
from lambdak.report.live_page import check_html, page
from lambdak.table.rows import optional_read

__all__ = ["write_report"]


def write_report(
    model: Model,
    path: str | PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    offset_test: ArrayLike | None = None,
    exposure_test: ArrayLike | None = None,
    target: str | None = None,
    units: Mapping[str, str] | None = None,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
    certificate: Certificate | None = None,
    effects: NDArray[np.float64] | None = None,
) -> Path:
    """Write the report of a model to ``path``, and return it.

    Parameters
    ----------
    path : path
        The HTML file; an older one is replaced only once the new one is complete.
    X, y : table and targets, optional
        Rows to start from, and what the columns hold and do; the training rows are fine. Whether the fit saw them is
        found out, never assumed, as in a dossier.
    sample_weight, offset, exposure : arrays, optional
        Of these rows, as in :func:`lambdak.governance.performance.performance`; with an exposure, targets are totals.
    X_test, y_test, sample_weight_test, offset_test, exposure_test
        Rows that the fit did not see: how well the model does is measured on these. Without them it is measured on X
        and y, and the report says so where the fit has seen them.
    target : str, optional
        What is predicted; None takes the name of y.
    units : mapping, optional
        Units of columns and of the target, by their names, such as ``{"age": "years"}``.
    n_resamples, random_state
        Of the confidence intervals.
    certificate : Certificate, optional
        What the model guarantees, if it was computed before, see :func:`lambdak.certify.certify`.
    effects : array of shape (columns,), optional
        Mean absolute effects over the training rows, as an estimator keeps them, for a report without X.
    """
    check_html(path)
    if not isinstance(certificate, Certificate | None):
        raise TypeError(f"certificate must be what certify returns; got a {type(certificate).__name__}: omit it")
    rows = optional_read(X, y, sample_weight, offset, exposure)
    test = optional_read(X_test, y_test, sample_weight_test, offset_test, exposure_test, suffix="_test")
    options = Options(resamples=n_resamples, seed=random_state)
    write_text(path, page(report_findings(model, X, rows, test, effects, target, units, options, certificate)))
    return Path(path)

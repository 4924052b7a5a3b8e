"""One result of every public kind, from small models that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import isclass
from typing import Any

import numpy as np
from fitted_models import CUTS, X, Y, fitted

from lambdak.governance.performance import coverage_of
from lambdak.optimize import minimize

PACKAGES = (
    "lambdak.certify", "lambdak.explain", "lambdak.governance.performance", "lambdak.governance.comparison",
    "lambdak.governance.drift", "lambdak.governance.fairness", "lambdak.governance.tables", "lambdak.optimize",
)  # fmt: skip
# What these packages also name: what goes in, not what comes out.
NO_RESULTS = {"Expression", "Limit", "Moment", "Resampling"}


def public_results() -> set[type]:
    """Classes of results that the packages of readers name."""
    named = (getattr(import_module(package), name) for package in PACKAGES for name in import_module(package).__all__)
    return {own for own in named if isclass(own) and own.__name__ not in NO_RESULTS}


@cache
def results() -> dict[str, Any]:
    """A result of each class, by what makes it."""
    return dict(_made())


def _made() -> Iterator[tuple[str, Any]]:
    number, counts, classes = fitted("regressor"), fitted("poisson"), fitted("binary")
    yes = np.where(Y > 1.5, "yes", "no")
    certificate, verification = number.certify(), number.verify(X[:20], n=50)
    yield from {"certify": certificate, "certify().claims": certificate.claims[0]}.items()
    yield from {"verify": verification, "verify().checks": verification.checks[0]}.items()
    whole, local = number.explain_global(X[:40]), number.explain_local(X[:30])
    yield from {"explain_global": whole, "explain_global()[column]": whole["income"]}.items()
    yield from {"pair": whole.pair("income", "age"), "interactions": whole.interactions[0]}.items()
    yield from {"explain_local": local, "what_if": local.what_if("age")}.items()
    yield from {"factors": counts.explain_global(X[:40]), "classes": fitted("multiclass").explain_local(X[:5])}.items()
    rows = {"exposure": np.linspace(0.5, 1.5, 240), "n_resamples": 20}
    measured, of_classes = counts.performance(X, np.maximum(Y, 0), **rows), classes.performance(X, yes, n_resamples=20)
    yield from {"performance": measured, "lorenz": measured.lorenz(), "calibration": measured.calibration()}.items()
    yield from {"roc": of_classes.roc(), "segments": measured.by("region"), "metric": measured.metrics[0]}.items()
    beside = counts.compare(np.full(240, Y.mean()), X, np.maximum(Y, 0), n_resamples=20)
    yield from {"compare": beside, "differences": beside.metrics[0], "changes": beside.changes()}.items()
    yield "changes by segment", beside.changes_by("region")
    drifted = number.drift(X[:120], X[120:])
    yield from {"drift": drifted, "drift().columns": drifted.columns[0]}.items()
    yield "fairness", classes.fairness(X[:60], "kind", yes[:60], target="yes")
    tables, card = counts.relativities(X, time_limit=0.1), classes.scorecard(X, yes, time_limit=0.1)
    yield from {"relativities": tables, "factor table": tables["income"], "deviation": tables.deviation}.items()
    yield from {"scorecard": card, "cut-offs": card.evaluate(X, yes)}.items()
    yield "inverse", number.inverse(X[:1], "income", float(np.median(number.predict(X))))
    moved = classes.counterfactual(X[:4], "yes", ["income"], time_limit=0.2)
    yield from {"counterfactual": moved, "change": moved.changes[0]}.items()
    margins = number.margin(X[:3], 1.0, time_limit=0.2)
    yield from {
        "margin": margins,
        "margin of a row": margins.rows[0],
        "margin of a column": margins.rows[0].columns[0],
    }.items()
    why = classes.reasons(X[:30], target="yes", undirected="name")
    declined = next(decision for decision in why.decisions if decision.reasons)
    yield from {"reasons": why, "decision": declined, "reason": declined.reasons[0]}.items()
    customer = {"age": 40.0, "region": "north", "kind": "a"}
    yield "minimize", minimize(number, ["income"], fixed=customer, time_limit=0.2)
    covered = coverage_of(fitted("quantiles").model_, X, Y)
    yield from {"coverage": covered, "coverage by a column": covered.by("region")}.items()
    yield from {"learning curves": number._learning_curves(), "model": number.model_}.items()
    yield "ordinal", fitted("ordinal").performance(X, CUTS, output=1, n_resamples=20)

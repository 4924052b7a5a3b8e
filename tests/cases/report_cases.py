"""Models whose reports are tested: every kind of output and of column, with names that try to break out of the page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
from fitted_models import changed

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.certify import Certificate, Claim
from lambdak.model.readout import readouts
from lambdak.table.category_levels import OTHER

SCRIPT = "<script>alert(1)</script>" + " of a very long name" * 5
IMAGE = '"><img src=x onerror=alert(1)>'
SMALL = {"max_iter": 2, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}
POOLING = {**SMALL, "max_categories": 3}
CLAIM = {"kind": "monotone", "subject": SCRIPT, "value": 0.5, "margin": None, "how": IMAGE, "details": {}}
CERTIFICATE = Certificate("m", "raw score", (
    Claim(**CLAIM, statement=f"never falls with {SCRIPT}", proven=True, requested=True),
    Claim(**CLAIM, statement="is convex", proven=False, requested=False),
))  # fmt: skip

_PATIENCE = 180_000  # milliseconds for a page, on a machine that does other work


def table(rows=240, seed=0):
    """Numbers with and without gaps, a category with gaps and pooled levels, and one of a single kind."""
    rng = np.random.default_rng(seed)
    whole, gappy = rng.integers(0, 9, rows).astype(float), rng.normal(size=rows)
    gappy[rng.random(rows) < 0.2] = np.nan
    level = rng.choice(["red", IMAGE, None], rows, p=[0.5, 0.3, 0.2]).astype(object)
    level[:3] = ["rare", "rare", "odd"]  # which are pooled on request
    X = pd.DataFrame({"whole": whole, SCRIPT: gappy, "level": level, "kind": rng.choice(["a", "b"], rows)})
    y = pd.Series(whole + 2 * np.nan_to_num(gappy) * (level == "red") + rng.normal(size=rows), name="out<b>come</b>")
    return X, y


X, Y = table()


@cache
def fitted(kind):
    """A small model of each kind; what it has learned does not matter."""
    cuts = np.digitize(Y, [2.0, 4.0, 6.0])
    makers = {
        "regressor": lambda: SpectralRegressor(monotonic_cst={"whole": 1}, **POOLING).fit(X, Y),
        "linear": lambda: SpectralRegressor(n_knots=0, **POOLING).fit(X, Y),
        "convex": lambda: SpectralRegressor(shape="convex", **POOLING).fit(X, Y),
        "poisson": lambda: SpectralRegressor("poisson", **POOLING).fit(X, np.maximum(Y, 0)),
        "binary": lambda: SpectralClassifier(**POOLING).fit(X, np.where(Y > 4, "good", "<bad>")),
        "multiclass": lambda: SpectralClassifier(**POOLING).fit(X, cuts),
        "quantiles": lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), **POOLING).fit(X, Y),
        "ordinal": lambda: SpectralOrdinalClassifier(**POOLING | {"dim": 7}).fit(X, cuts),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* levels", UserWarning)  # pooled, as requested
        return makers[kind]()


KINDS = ["regressor", "linear", "convex", "poisson", "binary", "multiclass", "quantiles", "ordinal"]


def with_matrices(model, coef):
    """A copy of a model with other matrices, (members, design columns, packed)."""
    return changed(model, coef=coef)


def python(model, rows):
    """Raw scores and predictions in float64, (rows, outputs) each."""
    design = model.model_.encoder.transform(rows, np.float64)
    outputs = readouts(model.model_)
    scores = np.stack([output.score(output.packed(design)) for output in outputs], axis=-1)
    return scores, outputs[0].link.predictions(scores)


def some_rows(model, count=25, seed=1):
    """Rows with gaps, numbers outside of the range, and levels that training has not seen."""
    rng = np.random.default_rng(seed)
    rows = X.sample(count, random_state=seed).reset_index(drop=True)
    rows["whole"] = rng.uniform(-3, 12, count)
    rows.loc[0, "whole"] = np.nan
    rows.loc[1, "level"] = "never seen"
    rows.loc[2, "kind"] = "never seen"
    rows.loc[3, "kind"] = None
    return rows, [page_row(model, row) for _, row in rows.iterrows()]


def page_row(model, row):
    """A row as the page keeps it, by the rules of the encoder's documentation."""
    cells = []
    for column in model.model_.encoder.columns:
        cell = row[column.name]
        gap = cell is None or cell != cell
        if column.is_number:
            cells.append(None if gap else float(cell))
        else:
            places = list(column.levels)
            known = None if gap else cell
            other = places.index(OTHER) if OTHER in places else -1
            cells.append(places.index(known) if known in places else other)
    return cells


def table_row(model, cells):
    """A row of the page as a row of the table: the inverse of ``page_row``."""
    row = {}
    for column, cell in zip(model.model_.encoder.columns, cells, strict=True):
        if column.is_number:
            row[column.name] = [np.nan if cell is None else cell]
        else:
            level = "never seen" if cell < 0 else column.levels[cell]
            row[column.name] = ["never seen" if level is OTHER else level]
    return pd.DataFrame(row)


@dataclass
class Visit:
    """A page that was opened, and what happened in it that should not."""

    page: object
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, page, path):
        """The report at ``path``, once its charts are there."""
        visit = cls(page)
        visit.watch(path.as_uri())
        page.set_default_timeout(_PATIENCE)
        page.goto(path.as_uri())
        page.locator("#shares-chart svg").wait_for()
        return visit

    def small_changes(self):
        """What small changes of the columns do, as it is drawn: names, values and texts."""
        self.page.evaluate("document.querySelector('#small').open = true")
        self.page.locator("#influence-chart svg").wait_for()
        settled = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done("
        return self.page.evaluate(f"{settled}document.querySelector('#influence-chart').drawn))))")

    def watch(self, address):
        note = self.problems.append
        self.page.on("console", lambda message: note(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: note(str(error)))
        self.page.on("dialog", lambda dialog: (note(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: request.url == address or note(f"request {request.url[:80]}"))

    def predict(self):
        found = self.page.evaluate("lambdak.predict()")
        return np.array(found["scores"]), np.array(found["predictions"])

    def set(self, row):
        self.page.evaluate("row => lambdak.set(row)", row)

    def control(self, i, part):
        return self.page.locator(f'[data-column="{i}"].control {part}')

    def searched(self):
        """Once the search for changes has ended."""
        self.page.locator("#decision-body[aria-busy=false]").wait_for()
        return self

    def changes(self):
        """Of each column that is listed: what its line says, by the heads of the cells."""
        text = "(cell) => [cell.dataset.head, cell.title || cell.textContent]"
        rows = self.searched().page.locator("#decision tbody tr")
        lines = rows.evaluate_all(f"all => all.map((row) => [...row.cells].map({text}))")
        return {own["column"]: own for own in map(dict, lines)}

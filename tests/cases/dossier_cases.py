"""A model with hostile names and its dossier, and what a reader finds in the three formats."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pandas as pd
from PIL import Image

from lambdak import SpectralRegressor

HOSTILE = "a|b</script><img src=x onerror=alert(1)>\n\x07`*_[x](http://evil.example) \u202e$1$ &amp; '\"; DROP TABLE"
LEVEL = "=cmd|'/c calc'!A1\x00"
SMALL = {"effort": "fast", "max_iter": 3, "n_estimators": 2, "dim": 3, "random_state": 0, "n_jobs": 1}
# What belongs to HTML and has no end tag.
_VOID = {"meta", "img", "br"}


def table(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "income": rng.gamma(2.0, 2.0, rows), HOSTILE: rng.normal(size=rows),
        "town": rng.choice(["Bern", "Uri", LEVEL], rows),
    })  # fmt: skip
    X.loc[::17, HOSTILE] = np.nan
    y = pd.Series(np.sqrt(X["income"]) + (X["town"] == "Bern") + rng.normal(0, 0.2, rows), name="cost")
    return X, y


X, Y = table()
X_TEST, Y_TEST = table(150, seed=1)


@cache
def fitted():
    return SpectralRegressor(monotonic_cst={"income": 1}, max_influence={"town": 2.0}, **SMALL).fit(X, Y)


def tiny_png(ax):
    """A picture that takes no time to draw, in place of lambdak.explain.plots.png."""
    import matplotlib.pyplot as plt

    plt.close(ax.get_figure(root=True))
    return white_png()


def white_png():
    """A small white picture."""
    data = BytesIO()
    Image.new("RGB", (4, 4), "white").save(data, "PNG")
    return data.getvalue()


class Reader(HTMLParser):
    """Tags with their attributes, texts, and whether all tags that are opened are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.parts, self.cells = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert tag in _VOID or self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.parts.append(data)
        if "td" in self.open:
            self.cells[-1] += data

    @property
    def text(self):
        return "".join(self.parts)


def markdown_cells(line):
    """The cells of a line of a table: bars that are escaped do not count."""
    return re.split(r"(?<!\\)(?:\\\\)*\|", line.strip())[1:-1]


def docx_text(document):
    """All text of a Word file, with that of its tables."""
    cells = [cell.text for own in document.tables for row in own.rows for cell in row.cells]
    return "\n".join([*(own.text for own in document.paragraphs), *cells])

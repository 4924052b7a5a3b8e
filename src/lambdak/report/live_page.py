"""The HTML file: what Python writes as text and tables, the page's style and scripts, and the model as JSON.

To add a section, write ``page/sections/<name>.js``, a class that extends ``Section`` (its calls are in
``page/section.js``) and ends with ``Section.add``, and put its name into ``_SECTIONS``, in the order of the page.
Heading, link and redrawing come with it; its data are one key of what ``payload`` returns. What it says without
JavaScript is a function in ``static/``, named in ``_WRITTEN``.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
from collections.abc import Callable
from importlib.resources import files
from os import PathLike
from pathlib import Path

from lambdak.export.javascript.engine import ENGINE, engine_script, to_json
from lambdak.report.contents import Contents
from lambdak.report.payload import payload
from lambdak.report.static import columns, front
from lambdak.report.static.guarantees import guarantees
from lambdak.report.static.performance import performance
from lambdak.report.static.reading import reading

_PARTS = (
    "payload", *ENGINE, "dom", "svg", "axes", "charts", "plots", "bounds", "shares", "controls", "rows", "tables",
    "words", "goals", "changes", "section",
)  # fmt: skip
_SECTIONS = ("try", "decision", "performance", "importance", "effects", "interactions", "matrices")

_ENDINGS = (".html", ".htm")

# All sections in the order of the page; those with the text of a link and a function are there without JavaScript.
_WRITTEN: dict[str, tuple[str, Callable[[Contents], str]] | None] = {
    "try": None,
    "decision": None,
    "certificate": ("Guarantees", guarantees),
    "performance": ("Performance", performance),
    "importance": ("Importance", columns.importance),
    "effects": ("Effects", columns.effects),
    "interactions": ("Interactions", columns.interactions),
    "data": ("Data", columns.data),
    "matrices": None,
    "reading": ("How to read this page", lambda contents: reading()),
}


def check_html(path: str | PathLike[str]) -> None:
    """Refuse a name that promises another format: a browser would not open the file."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"path must end with .html or .htm, because a report is a page; got {os.fspath(path)!r}. "
            "A browser prints it to PDF"
        )


def page(contents: Contents) -> str:
    """The whole page; only the script named here, by its hash, may run in it."""
    app = script((*_PARTS, *(f"sections/{name}" for name in _SECTIONS), "app"))
    written = {
        key: f'<section id="{key}"></section>' if own is None else own[1](contents) for key, own in _WRITTEN.items()
    }
    links = {key: own[0] for key, own in _WRITTEN.items() if own is not None}
    return document(
        front.title(contents), front.front(contents), links, list(written.values()), to_json(payload(contents)), app
    )


def document(title: str, top: str, links: dict[str, str], sections: list[str], data: str, app: str) -> str:
    """A page of these parts."""
    parts = {
        "TITLE": html.escape(title),
        "POLICY": html.escape(_policy(app)),
        "STYLE": page_file("style.css"),
        "FRONT": top,
        "LINKS": " ".join(f'<a href="#{key}">{html.escape(text)}</a>' for key, text in links.items()),
        "SECTIONS": "\n".join(sections),
        "PAYLOAD": data,
        "APP": app,
    }
    return re.sub(r"@@([A-Z]+)@@", lambda found: parts[found[1]], page_file("page.html"))


def page_file(name: str) -> str:
    """Return the text of a file of the page."""
    return files("lambdak.report").joinpath("page", name).read_text(encoding="utf-8")


def script(names: tuple[str, ...]) -> str:
    """Files of the page as one script."""
    body = "\n".join(engine_script(name) if name in ENGINE else page_file(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _policy(*scripts: str) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

"""The report: what Python writes as sections, the page's style and scripts, and the model as JSON.

A section that draws has a script ``page/sections/<key>.js``, a class that extends ``Section`` (its calls are in
``page/section.js``) and ends with ``Section.add``; its data are one key of what ``payload`` returns.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path

from lambdak.export.javascript.engine import ENGINE, engine_script, to_json
from lambdak.report.document import Section
from lambdak.report.findings import Findings
from lambdak.report.html import blocks_html, section_html
from lambdak.report.payload import payload
from lambdak.report.sections import PAGE, front

_PARTS = (
    "payload", *ENGINE, "dom", "svg", "number_scale", "axes", "charts", "plots", "bounds", "shares", "controls", "rows",
    "tables", "words", "goals", "changes", "section",
)  # fmt: skip

_ENDINGS = (".html", ".htm")


def check_html(path: str | PathLike[str]) -> None:
    """Refuse a name that promises another format: a browser would not open the file."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"path must end with .html or .htm, because a report is a page; got {os.fspath(path)!r}. "
            "A browser prints it to PDF"
        )


def page(findings: Findings) -> str:
    """Return the whole page; only the script named here, by its hash, may run in it."""
    sections = [Section(place.key, "", ()) if place.build is None else place.build(findings) for place in PAGE]
    links = {place.key: place.link for place in PAGE if place.link}
    app = script((*_PARTS, *(f"sections/{place.key}" for place in PAGE if place.script), "app"))
    top = f'{blocks_html([front.page(findings)])}\n<p class="note" id="about">{html.escape(front.about(findings))}</p>'
    return laid_out(front.title(findings), top, links, sections, to_json(payload(findings)), app)


def laid_out(title: str, top: str, links: Mapping[str, str], sections: Sequence[Section], data: str, app: str) -> str:
    """Return a page of these parts."""
    parts = {
        "TITLE": html.escape(title),
        "POLICY": html.escape(_policy(app)),
        "STYLE": page_file("style.css"),
        "FRONT": top,
        "LINKS": " ".join(f'<a href="#{key}">{html.escape(text)}</a>' for key, text in links.items()),
        "SECTIONS": "\n".join(map(section_html, sections)),
        "PAYLOAD": data,
        "APP": app,
    }
    return re.sub(r"@@([A-Z]+)@@", lambda match: parts[match[1]], page_file("page.html"))


def page_file(name: str) -> str:
    """Return the text of a file of the page."""
    return files("lambdak.report").joinpath("page", name).read_text(encoding="utf-8")


def script(names: tuple[str, ...]) -> str:
    """Return files of the page as one script."""
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

"""The HTML file: a template, its style and scripts, Plotly, and the model as JSON.

To add a section, write ``page/sections/<name>.js``, a class that extends ``Section`` (its calls are in
``page/section.js``) and ends with ``Section.add``, and put its name into ``_SECTIONS``, in the order of the page.
Heading, link and redrawing come with it; its data are one key of what ``payload`` returns.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from lambdak.report.payload import to_json

_PARTS = (
    "constants", "dom", "eigen", "model", "bounds", "controls", "charts", "tables", "words", "goals", "changes",
    "section",
)  # fmt: skip
_SECTIONS = ("try", "decision", "effects", "certificate", "data", "matrices", "reading")


def page(payload: Mapping[str, Any]) -> str:
    """The whole page; only the scripts named here, by their hash, may run in it."""
    plotly, app = _plotly(), _app()
    about = payload["about"]
    title = about["estimator"] + (f" of {about['target']}" if about["target"] else "")
    parts = {
        "TITLE": html.escape(title),
        "POLICY": html.escape(_policy(plotly, app)),
        "STYLE": _read("style.css"),
        "PAYLOAD": to_json(payload),
        "PLOTLY": plotly,
        "APP": app,
    }
    return re.sub(r"@@([A-Z]+)@@", lambda found: parts[found[1]], _read("page.html"))


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the report draws with Plotly: pip install 'lambdak[report]'") from error
    # A hash is taken of what a browser reads, and it reads every line end as \n.
    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _app() -> str:
    sections = (f"sections/{name}" for name in _SECTIONS)
    body = "\n".join(_read(f"{name}.js") for name in (*_PARTS, *sections, "app"))
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _policy(*scripts: str) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _read(name: str) -> str:
    return files("lambdak.report").joinpath("page", name).read_text(encoding="utf-8")

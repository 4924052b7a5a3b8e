"""Tables of pages that are read without Sphinx, too: parameters of the estimators, and the names of API pages.

They stand in the pages between two comments, as a code host shows them, and are written from signatures and docstrings
by

    python docs/extensions/plain_tables.py

A test fails where they are not what this writes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import api

import lambdak
from lambdak.estimators.settings import parameter_texts

DOCS = Path(__file__).resolve().parents[1]
_END = "<!-- end of table -->"
_TABLE = re.compile(r"(<!-- table of (?P<what>[^>]*?) -->\n).*?(?=" + re.escape(_END) + ")", re.DOTALL)
_DIRECTIVE = re.compile(r"^```\{api\} (?P<path>\S+)\n(?::members: (?P<members>[^\n]*)\n)?```", re.MULTILINE)
_ROLE = re.compile(r":[\w:]+:`~?(?:[\w.]*\.)?([^`]+)`")
_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z(])")


def pages() -> list[Path]:
    """The pages that hold such tables."""
    return [path for path in sorted(DOCS.rglob("*.md")) if _END in path.read_text(encoding="utf-8")]


def rewritten(page: str) -> str:
    """A page with its tables as they should be."""
    return _TABLE.sub(lambda found: found[1] + "\n".join(table(found["what"], page)) + "\n", page)


def table(what: str, page: str) -> list[str]:
    """The lines of the table of "parameters: ESTIMATOR name …" or of "names", those that the page documents."""
    if what == "names":
        return ["| name | what it is |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in documented(page))]
    estimator, *wanted = what.partition(": ")[2].split()
    head = ["| parameter | default | may be | what it does |", "|---|---|---|---|"]
    return head + [f"| {' | '.join(row)} |" for row in parameters(estimator, wanted)]


def parameters(name: str, wanted: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Name, default, range and text of parameters of an estimator."""
    estimator = getattr(lambdak, name)
    texts, signature = parameter_texts(estimator), inspect.signature(estimator).parameters
    for each in wanted:
        kind, text = texts[each]
        yield f"`{each}`", f"`{signature[each].default!r}`", kind.partition(", default")[0], markdown(text)


def documented(page: str) -> Iterator[tuple[str, str]]:
    """Full names of all that a page documents, each with the first sentence of its docstring."""
    for found in _DIRECTIVE.finditer(page):
        obj, module, name = api.found(found["path"])
        wanted = (found["members"] or "").replace(",", " ").split()
        names = [name] if name else api.members(obj, wanted)
        for own in names:
            value = obj if name else getattr(obj, own)
            text = _SENTENCE.split(markdown(inspect.getdoc(value) or ""))[0]
            yield f"{api.public_module(value, module, own)}.{own}", text.rstrip(":")


def markdown(text: str) -> str:
    """One paragraph of a docstring as one line of Markdown."""
    line = " ".join(text.split("\n\n")[0].split())
    return _ROLE.sub(r"`\1`", line).replace("``", "`").replace("|", "\\|")


def main() -> None:
    """Write all tables again."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        path.write_text(rewritten(text), encoding="utf-8")


if __name__ == "__main__":
    main()

"""A document as Markdown, with its pictures in a folder beside it: GitHub and most editors show no embedded ones.

A picture's name holds a digest of it, so that an older document beside a newer one keeps its own pictures.
"""

from __future__ import annotations

import hashlib
import re
from functools import singledispatch
from urllib.parse import quote

from lambdak.report import document as blocks
from lambdak.report.document import Block, Document, Mark, Section, simpler

_MARKUP = re.compile(r"([\\`*_{}\[\]|~$#!])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_AT_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))", re.MULTILINE)
_LINKS = re.compile(r"(?i)\b(https?|ftp|mailto)(?=:)|\b(www)(?=\.)")
_TONES = {"good": "", "bad": "**Warning.** ", "open": "**Open.** ", "plain": ""}
_DIGITS = 8  # of a picture's digest


def to_markdown(document: Document, folder: str) -> tuple[str, dict[str, bytes]]:
    """The text, with contents and numbered sections, and the pictures by their file names in ``folder``."""
    pictures: dict[str, bytes] = {}
    parts = [f"# {plain(document.title)}", plain(document.subtitle)]
    parts += [_block(block, pictures, folder) for block in document.front]
    parts += [
        "## Contents",
        "\n".join(f"{i}. {plain(section.title)}" for i, section in enumerate(document.sections, 1)),
    ]
    parts += [_section(title, section, pictures, folder) for title, section in document.numbered()]
    return "\n\n".join(parts) + "\n", pictures


def sections_markdown(document: Document) -> str:
    """The text of a document without pictures, with neither contents nor numbers."""
    parts = [f"# {plain(document.title)}", *(_block(block, {}, "") for block in document.front)]
    parts += [_section(section.title, section, {}, "") for section in document.sections]
    return "\n\n".join(parts) + "\n"


def _section(title: str, section: Section, pictures: dict[str, bytes], folder: str) -> str:
    return _joined([f"## {plain(title)}", *(_block(block, pictures, folder) for block in section.blocks)])


def _joined(parts: list[str]) -> str:
    return "\n\n".join(filter(None, parts))


def plain(text: str) -> str:
    r"""Text in which nothing is markup, and no address becomes a link.

    >>> print(plain("a|b *c* <i> _d_"))
    a\|b \*c\* &lt;i&gt; \_d\_
    """
    escaped = _MARKUP.sub(r"\\\1", text).translate(_ENTITIES)
    return _LINKS.sub(lambda match: f"{match[0][:-1]}&#{ord(match[0][-1])};", escaped)


def _line(text: str) -> str:
    """Text in which nothing is markup at the beginning of a line, where more would be."""
    return _AT_START.sub(lambda match: f"{match[1]}{_escaped_start(match[2])}", plain(text))


def _escaped_start(start: str) -> str:
    return f"\\{start}" if not start.isdigit() else f"{start[:-1]}&#{ord(start[-1])};"


def _cell(text: str) -> str:
    lines = "<br>".join(map(plain, text.split("\n")))
    return f"**{lines}**" if isinstance(text, Mark) and text.tone != "plain" else lines


@singledispatch
def _block(block: Block, pictures: dict[str, bytes], folder: str) -> str:
    return _joined([_block(plainer, pictures, folder) for plainer in simpler(block)])


@_block.register
def _(block: blocks.Heading, pictures: dict[str, bytes], folder: str) -> str:
    return f"### {plain(block.text)}"


@_block.register
def _(block: blocks.Paragraph, pictures: dict[str, bytes], folder: str) -> str:
    return _line(block.text)


@_block.register
def _(block: blocks.Note, pictures: dict[str, bytes], folder: str) -> str:
    return f"> {_TONES[block.tone]}{_line(block.text)}"


@_block.register
def _(block: blocks.Bullets, pictures: dict[str, bytes], folder: str) -> str:
    return "\n".join(f"- {_line(item)}" for item in block.items)


@_block.register
def _(block: blocks.Fold, pictures: dict[str, bytes], folder: str) -> str:
    verdict = "" if block.verdict is None else f"{_cell(block.verdict)} "
    head, (first, *rest) = f"{verdict}*{plain(block.title)}.*", block.blocks
    if isinstance(first, blocks.Paragraph):
        head = f"{head} {plain(first.text)}"
    else:
        rest.insert(0, first)
    whole = "\n\n".join([head, *(_block(part, {}, "") for part in rest)])
    return "\n".join(f"> {line}".rstrip() for line in whole.split("\n"))


@_block.register
def _(block: blocks.Code, pictures: dict[str, bytes], folder: str) -> str:
    longest = max(map(len, re.findall("`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{block.language}\n{block.text}\n{fence}"


@_block.register
def _(block: blocks.Table, pictures: dict[str, bytes], folder: str) -> str:
    rules = [":--" if i in block.left else "--:" for i in range(len(block.names))]
    lines = [[plain(name) for name in block.names], rules, *([_cell(cell) for cell in row] for row in block.rows)]
    return f"**{plain(block.caption)}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@_block.register
def _(block: blocks.Picture, pictures: dict[str, bytes], folder: str) -> str:
    name = f"{block.name}-{hashlib.sha256(block.png).hexdigest()[:_DIGITS]}.png"
    pictures[name] = block.png
    return f"![{plain(block.caption)}]({quote(f'{folder}/{name}')})\n\n*{plain(block.caption)}*"


@_block.register
def _(block: blocks.Gallery, pictures: dict[str, bytes], folder: str) -> str:
    return "\n\n".join(_block(picture, pictures, folder) for picture in block.pictures)

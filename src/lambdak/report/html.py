"""A document as one HTML file: no script, no request, and a style sheet for screens of any size and for paper."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch
from importlib.resources import files

from lambdak.report import document as blocks
from lambdak.report.document import Block, Document, Mark, Section

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_LONGEST_WORD = 20  # letters, beyond which it may be broken anywhere


def to_html(document: Document) -> str:
    """The whole page."""
    style = files("lambdak.report").joinpath("document.css").read_text(encoding="utf-8")
    numbered = document.numbered()
    links = "".join(f'<li><a href="#{section.key}">{html.escape(section.title)}</a></li>' for _, section in numbered)
    sections = "\n".join(section_html(replace(section, title=title)) for title, section in numbered)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(document.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header>\n<h1>{html.escape(document.title)}</h1>\n<p class="subtitle">{html.escape(document.subtitle)}</p>\n'
        f"{blocks_html(document.front)}\n</header>\n<nav>\n<h2>Contents</h2>\n<ol>{links}</ol>\n</nav>\n"
        f"{sections}\n</main>\n</body>\n</html>\n"
    )


def section_html(section: Section) -> str:
    """Return a section with its heading; one without a title is left to scripts."""
    key = section.key
    if not section.title:
        return f'<section id="{key}"></section>'
    heading = f'<h2 id="{key}-title">{html.escape(section.title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">\n{heading}\n{blocks_html(section.blocks)}\n</section>'


def blocks_html(parts: Iterable[Block]) -> str:
    """Return blocks one below the other."""
    return "\n".join(map(_block, parts))


def _text(text: str) -> str:
    escaped = html.escape(text)
    return f'<span class="{text.tone}">{escaped}</span>' if isinstance(text, Mark) else escaped


@singledispatch
def _block(block: Block) -> str:
    raise TypeError(f"a block of a document is expected; got a {type(block).__name__}")


@_block.register
def _(block: blocks.Heading) -> str:
    return f"<h3>{html.escape(block.text)}</h3>"


@_block.register
def _(block: blocks.Paragraph) -> str:
    return f"<p>{_text(block.text)}</p>"


@_block.register
def _(block: blocks.Note) -> str:
    return f'<p class="note {block.tone}">{html.escape(block.text)}</p>'


@_block.register
def _(block: blocks.Bullets) -> str:
    return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in block.items) + "</ul>"


@_block.register
def _(block: blocks.Fold) -> str:
    mark = block.verdict
    verdict = "" if mark is None else f'<span class="mark {mark.tone}">{html.escape(mark)}</span> '
    return f"<details><summary>{verdict}{html.escape(block.title)}</summary>\n{blocks_html(block.blocks)}\n</details>"


@_block.register
def _(block: blocks.Glossary) -> str:
    words = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(meaning)}</dd>" for term, meaning in block.pairs)
    return f"<dl>{words}</dl>"


@_block.register
def _(block: blocks.Answer) -> str:
    words = "".join(f"<p>{html.escape(line).replace(' %', '&nbsp;%')}</p>" for line in block.lines if line)
    tone = "" if block.tone == "plain" else block.tone
    shown = f'<p class="big {tone}">{html.escape(block.answer)}</p>' if block.answer else ""
    return f'<div class="card answer"><h2>{html.escape(block.question)}</h2>{shown}{words}</div>'


@_block.register
def _(block: blocks.Answers) -> str:
    return f'<div class="answers">{"".join(map(_block, block.answers))}</div>'


@_block.register
def _(block: blocks.Scripted) -> str:
    return block.markup or f'<div id="{block.key}-body"></div>'


@_block.register
def _(block: blocks.Code) -> str:
    return f'<pre><code class="language-{block.language}">{html.escape(block.text)}</code></pre>'


@_block.register
def _(block: blocks.Table) -> str:
    kinds = ["words" if i in block.left else "number" for i in range(len(block.names))]
    cells = "".join(map('<th scope="col" class="{}">{}</th>'.format, kinds, map(html.escape, block.names)))
    head = f"<thead><tr>{cells}</tr></thead>\n" if any(block.names) else ""
    pairs = ' class="pairs"' if len(block.names) == 2 else ""
    rows = "\n".join(f"<tr>{''.join(map(_cell, kinds, block.names, row))}</tr>" for row in block.rows)
    return (
        f'<div class="table"><table{pairs}>\n<caption>{html.escape(block.caption)}</caption>\n'
        f"{head}<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _cell(kind: str, name: str, text: str) -> str:
    """A cell, with the name of its column beside it for narrow screens, which stack the cells of a row."""
    long = " long" if max(map(len, text.split()), default=0) > _LONGEST_WORD else ""
    return f'<td class="{kind}{long}" data-name="{html.escape(name)}">{_text(text)}</td>'


@_block.register
def _(block: blocks.Picture) -> str:
    data, caption = base64.b64encode(block.png).decode("ascii"), html.escape(block.caption)
    image, size = f'<img alt="{caption}" src="data:image/png;base64,{data}">', "" if block.wide else ' class="half"'
    return f"<figure{size}>{image}<figcaption>{caption}</figcaption></figure>"


@_block.register
def _(block: blocks.Gallery) -> str:
    return '<div class="gallery">\n' + "\n".join(map(_block, block.pictures)) + "\n</div>"

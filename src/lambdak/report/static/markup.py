"""Pieces of HTML: blocks of a document, folds around them, and nothing of a table that is not escaped."""

from __future__ import annotations

import html

from lambdak.report.document import Block
from lambdak.report.html import blocks_html


def fold(title: str, *blocks: Block, mark: str = "", tone: str = "") -> str:
    """Blocks that appear on demand, behind a sentence; ``mark`` is a short verdict before it."""
    verdict = f'<span class="mark {tone}">{html.escape(mark)}</span> ' if mark else ""
    return f"<details><summary>{verdict}{html.escape(title)}</summary>\n{blocks_html(blocks)}\n</details>"


def section(key: str, title: str, before: str, after: str = "") -> str:
    """A section; scripts may fill the element between what is before and after."""
    heading = f'<h2 id="{key}-title">{html.escape(title)}</h2>'
    body = f'{before}\n<div id="{key}-body"></div>\n{after}'
    return f'<section id="{key}" aria-labelledby="{key}-title">\n{heading}\n{body}\n</section>'


def card(title: str, big: str, lines: list[str], tone: str = "") -> str:
    """HTML of an answer at the top: a question, its answer in large letters, and what is to be said about it."""
    words = "".join(f"<p>{html.escape(line).replace(' %', '&nbsp;%')}</p>" for line in lines if line)
    shown = f'<p class="big {tone}">{html.escape(big)}</p>' if big else ""
    return f'<div class="card answer"><h2>{html.escape(title)}</h2>{shown}{words}</div>'

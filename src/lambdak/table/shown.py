"""How results look: short where Python prints them, and as HTML in a notebook, in words and as a picture.

The HTML needs no script and no style sheet: it takes the colours of the page, light or dark, and text that is aligned
keeps its columns. Screen readers get the name of the result, its text, and the name of the picture.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from html import escape
from importlib.util import find_spec
from io import StringIO
from itertools import groupby
from typing import Any

from lambdak.table.visible import visible

# Colours of the page, so that it fits light and dark notebooks alike.
FRAME = (
    "border:1px solid rgba(128,128,128,.45);border-radius:8px;padding:10px 14px;margin:4px 0;max-width:{width}px;"
    "color:inherit;background:transparent;font-family:sans-serif;font-size:13px;line-height:1.45"
)
HEADING = "font-weight:600;font-size:15px"
_ALIGNED = (
    "margin:6px 0;padding:0;overflow-x:auto;color:inherit;background:transparent;border:0;white-space:pre;"
    "font-family:monospace;font-size:12px;line-height:1.4"
)
_MOST_LINES, _MOST_LETTERS = 24, 2_400  # of what Python prints by itself
_MOST_HTML = 200  # lines
_LONGEST = 90  # letters of a value
_INK = re.compile(r"#(?:000000|333333|262626)\b")  # of axes and text: those of the page
_FOR_THE_PAGE = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", re.DOTALL)  # would style the page
_SVG = "max-width:100%;height:auto;fill:currentColor;stroke-linejoin:round;stroke-linecap:butt"
_SILENT = 'aria-hidden="true"'  # the frame around it has its name
_INDENTED = " ┏┃┡│├└"  # what aligned lines begin with
_WHITE = re.compile(r"#ffffff\b", re.IGNORECASE)


class Shown:
    """A result that Python prints in short, and a notebook as HTML; a subclass says its text and its picture.

    Its text is ``__str__``, by default all fields; its picture is ``plot``, if it has that and needs no arguments.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return fields_text(self)

    def __repr__(self) -> str:
        return shortened(str(self))

    def _repr_html_(self) -> str:
        return result_html(self)


def shortened(text: str) -> str:
    r"""The first lines of a text, and how many more ``print`` shows.

    >>> shortened("one line")
    'one line'
    >>> print(shortened("line\n" * 40)[-37:])
    … and 17 more lines: print shows them
    """
    lines = text.split("\n")
    kept, letters = 0, 0
    for line in lines[:_MOST_LINES]:
        letters += len(line) + 1
        if letters > _MOST_LETTERS and kept:
            break
        kept += 1
    left = len(lines) - kept
    return text if not left else "\n".join([*lines[:kept], f"… and {left:,} more lines: print shows them"])


def fields_text(result: Any) -> str:
    """What a result holds, field by field: for results that have no words of their own."""
    names = getattr(result, "_fields", None) or [own.name for own in fields(result)]
    values = {name: _brief(getattr(result, name)) for name in names if not name.startswith("_")}
    widest = max(map(len, values), default=0)
    return "\n".join([type(result).__name__, *(f"  {name.ljust(widest)}  {text}" for name, text in values.items())])


def _brief(value: Any) -> str:
    """A value in one short line."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"array of shape {tuple(shape)}"
    text = visible(" ".join((str(value) if isinstance(value, str) else repr(value)).split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def result_html(result: Any) -> str:
    """A result as HTML: its first line as a heading, sentences, aligned text as it is, and its picture."""
    name = _spaced(type(result).__name__)
    lines = str(result).split("\n")
    more = [f"… and {len(lines) - _MOST_HTML:,} more lines"] if len(lines) > _MOST_HTML else []
    heading, *rest = [*lines[:_MOST_HTML], *more]
    parts = [f'<div style="{HEADING}">{escape(heading.strip())}</div>', *_blocks(rest, name), *_picture(result, name)]
    frame = FRAME.format(width=900)
    return f'<div class="lambdak-result" role="group" aria-label="{name}" style="{frame}">{"".join(parts)}</div>'


def _spaced(name: str) -> str:
    """The name of a class in words.

    >>> _spaced("GlobalExplanation")
    'Global explanation'
    """
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f" {match[1].lower()}", name)


def _blocks(lines: list[str], name: str) -> Iterator[str]:
    """Sentences as paragraphs; aligned lines as they are."""
    for aligned, own in groupby(lines, lambda line: line[:1] in _INDENTED and bool(line)):
        if aligned:
            text = escape("\n".join(own))
            yield f'<pre tabindex="0" role="region" aria-label="{name}, in columns" style="{_ALIGNED}">{text}</pre>'
        else:
            yield from (f'<div style="margin-top:4px">{escape(line)}</div>' for line in own if line.strip())


def _picture(result: Any, name: str) -> Iterator[str]:
    """The picture of a result as SVG in the colours of the page; none if there is nothing to draw, or to draw with."""
    plot = getattr(result, "plot", None)
    if plot is None or find_spec("matplotlib") is None or _required(plot):
        return
    try:
        svg = _svg(plot)
    except ValueError:  # a result may have nothing to draw
        return
    yield f'<div role="img" aria-label="{name}, as a picture" style="margin-top:8px;overflow-x:auto">{svg}</div>'


def _required(plot: Any) -> bool:
    """Whether a picture needs arguments that only a user can give."""
    return any(own.default is own.empty for own in inspect.signature(plot).parameters.values())


def _svg(plot: Any) -> str:
    """What ``plot`` draws, as SVG without a background, in which text stays text."""
    import matplotlib.pyplot as plt

    drawn, style = StringIO(), dict[Any, Any]({"svg.fonttype": "none", "svg.hashsalt": "lambdak"})
    with plt.rc_context(style):
        axes = plot()
        figures = {own.get_figure(root=True): own for own in (axes if isinstance(axes, list | tuple) else [axes])}
        next(iter(figures)).savefig(drawn, format="svg", transparent=True)
        for figure in figures:
            plt.close(figure)
    svg = _FOR_THE_PAGE.sub("", drawn.getvalue()[drawn.getvalue().index("<svg") :])
    return _WHITE.sub("none", _INK.sub("currentColor", svg.replace("<svg ", f'<svg style="{_SVG}" {_SILENT} ', 1)))

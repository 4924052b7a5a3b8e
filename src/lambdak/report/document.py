"""A document as data: sections of paragraphs, tables and pictures, which every writer lays out in its own way.

All text is made harmless here, once: control characters, changes of direction and the like become escapes. What is
markup in HTML, Markdown or Word is up to the writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from lambdak.table.visible import visible, visible_lines

Tone = Literal["good", "bad", "open", "plain"]

MOST_LINES = 12  # of a table with one line per column
_FEW = 20  # that are all shown


class Mark(str):
    """A text with a tone: a verdict, what the owner has yet to fill in, or plainly the words of the owner.

    It may have several lines, which no other text has.
    """

    __slots__ = ("tone",)
    tone: Tone

    def __new__(cls, text: str, tone: Tone) -> Mark:
        """Mark a text."""
        mark = super().__new__(cls, text)
        mark.tone = tone
        return mark


TO_COMPLETE = Mark("To be completed by the owner", "open")


@dataclass(frozen=True)
class _Block:
    """A block of a document, whose texts are safe to show."""

    def __post_init__(self) -> None:
        for part in fields(self):
            object.__setattr__(self, part.name, _harmless(getattr(self, part.name)))


def _harmless(value: Any) -> Any:
    if isinstance(value, Mark):
        return Mark(visible_lines(value), value.tone)
    if isinstance(value, str):
        return visible(value)
    return tuple(map(_harmless, value)) if isinstance(value, tuple | list) else value


@dataclass(frozen=True)
class Heading(_Block):
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Paragraph(_Block):
    """Running text; one that is marked stands out."""

    text: str


@dataclass(frozen=True)
class Note(_Block):
    """A paragraph that nobody must miss."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Bullets(_Block):
    """A list of items in a document."""

    items: Sequence[str]


@dataclass(frozen=True)
class Fold(_Block):
    """What only some readers want, behind a sentence; ``verdict`` is a short one before it."""

    title: str
    blocks: Sequence[Block]
    verdict: Mark | None = None


@dataclass(frozen=True)
class Table(_Block):
    """Rows of cells below names; ``left`` are the columns of words, all others are numbers."""

    caption: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            if len(row) != len(self.names):
                raise ValueError(f"a row must have {len(self.names)} cells, as {self.caption!r} has; got {len(row)}")


@dataclass(frozen=True)
class Picture(_Block):
    """A PNG picture; ``name`` is that of its file, where it has one of its own."""

    name: str
    caption: str
    png: bytes
    wide: bool = True  # whether it takes a whole line; others may stand side by side


@dataclass(frozen=True)
class Gallery(_Block):
    """Pictures that may stand side by side."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Code:
    """Lines of Python or of a shell in a document, to be run by its reader."""

    text: str
    language: Literal["python", "sh"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible_lines(self.text))


@dataclass(frozen=True)
class Glossary(_Block):
    """Words with their meanings."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Answer(_Block):
    """A question, its answer in a few large words, and what is to be said about it."""

    question: str
    answer: str
    lines: Sequence[str]
    tone: Tone = "plain"


@dataclass(frozen=True)
class Answers(_Block):
    """Answers side by side."""

    answers: Sequence[Answer]


@dataclass(frozen=True)
class Scripted:
    """What a script of the page fills in; documents without scripts leave it out.

    ``markup`` is what it finds there: fixed text of the library, never of a table.
    """

    key: str
    markup: str = ""


Block = (
    Heading | Paragraph | Note | Bullets | Fold | Table | Picture | Gallery | Code | Glossary | Answer | Answers
    | Scripted
)  # fmt: skip


@dataclass(frozen=True)
class Section(_Block):
    """A part of the document.

    Attributes
    ----------
    key, title : str
        What links lead to, and the heading.
    blocks : tuple of blocks
    appendix : tuple of Table
        Whole tables of which the section shows only the beginning.
    open_points : tuple of str
        What is missing or was not done, as sentences for the first page.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    appendix: tuple[Table, ...] = ()
    open_points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document(_Block):
    """A title, what stands on the first page, and numbered sections."""

    title: str
    subtitle: str
    front: tuple[Block, ...]
    sections: tuple[Section, ...]

    def numbered(self) -> list[tuple[str, Section]]:
        """Headings with their numbers, and the sections."""
        return [(f"{i}. {section.title}", section) for i, section in enumerate(self.sections, 1)]


def said(words: str | None) -> Mark:
    """What the owner said, line by line, or that it is to be completed."""
    lines = [] if words is None else [line.strip() for line in words.splitlines()]
    return Mark("\n".join(filter(None, lines)), "plain") if any(lines) else TO_COMPLETE


def shortened(table: Table, order: Sequence[int] | None = None) -> tuple[Table, tuple[Table, ...]]:
    """A table to show, and the whole one for the appendix if it is long; ``order`` says which lines come first."""
    lines = [table.rows[i] for i in order] if order is not None else list(table.rows)
    whole = replace(table, rows=tuple(lines))
    if len(lines) <= _FEW:
        return whole, ()
    caption = f"{table.caption}: the first {MOST_LINES} of {len(lines)}; all of them are in the appendix"
    return replace(table, caption=caption, rows=tuple(lines[:MOST_LINES])), (whole,)


def simpler(block: Block) -> tuple[Block, ...]:
    """Return plainer blocks that say what a page's own block says, for writers of documents without scripts."""
    match block:
        case Answers():
            return tuple(block.answers)
        case Answer():
            first = Paragraph(Mark(f"{block.question}: {block.answer}", block.tone))
            return first, *(Paragraph(line) for line in block.lines if line)
        case Glossary():
            return (Bullets([f"{term}: {meaning}" for term, meaning in block.pairs]),)
        case Scripted():
            return ()
        case _:
            raise TypeError(f"a block of a document is expected; got a {type(block).__name__}")

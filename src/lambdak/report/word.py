"""A document as a Word file: headings, tables, pictures, a table of contents and page numbers.

The same document gives the same bytes: times in the file, which Word reads as those of its making, are fixed.
"""

from __future__ import annotations

import zipfile
from datetime import datetime
from functools import singledispatch
from io import BytesIO
from typing import Any

from lambdak.report import document as blocks
from lambdak.report.document import Block, Document, Mark, Section, simpler

_LONG_AGO = datetime(2000, 1, 1)
_ZIP_TIME = (2000, 1, 1, 0, 0, 0)
_COLOURS = {"good": "0B6B3A", "bad": "A61B1B", "open": "8A5300", "plain": "1F2933"}
_TINTS = {"good": "E7F5EC", "bad": "FDECEA", "open": "FFF4DC", "plain": "F5F7FA"}
_BLUE, _GREY, _TINT, _LINE = "0B5394", "52606D", "EEF2F6", "C5CDD6"
_MARGIN, _WIDE, _HALF = 2.2, 16.4, 8.0  # centimetres, on A4
_SMALL, _BODY = 8.5, 10.5  # points
_MOST_COLUMNS = 6  # of a table, beyond which its text is smaller
_LETTER, _PADDING = 0.21, 0.45  # centimetres, of a cell
_LONGEST_WORD, _LONGEST_TEXT = 22, 60  # letters that count for the width of a column
_ROOM = 25_000  # above and below the text of a cell, in units of 1/12700 point


def check_docx() -> None:
    """Say now, and not after all computations, that no Word file can be written."""
    try:
        import docx  # noqa: F401
    except ImportError as error:
        raise ImportError("a Word file is written with python-docx: pip install 'lambdak[dossier]'") from error


def to_docx(document: Document) -> bytes:
    """The whole file."""
    check_docx()
    import docx

    word = docx.Document()
    _lay_out_(word, document.title)
    word.add_heading(document.title, 0)
    _paragraph(word, document.subtitle, colour=_GREY)
    for block in document.front:
        _add(block, word)
    _contents_(word, document)
    for i, (title, section) in enumerate(document.numbered()):
        _section_(word, title, section, i)
    whole = BytesIO()
    word.save(whole)
    return _timeless(whole.getvalue())


def _timeless(data: bytes) -> bytes:
    """Archive of these files, with equal bytes whenever it was written."""
    whole = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as written, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as kept:
        for name in written.namelist():
            entry = zipfile.ZipInfo(name, _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            kept.writestr(entry, written.read(name))
    return whole.getvalue()


def _lay_out_(word: Any, title: str) -> None:
    from docx.shared import Cm, Pt, RGBColor

    properties = word.core_properties
    properties.title, properties.author, properties.last_modified_by, properties.comments = (
        title[:255],
        "lambdak",
        "lambdak",
        "",
    )
    properties.created = properties.modified = _LONG_AGO
    page = word.sections[0]
    page.page_width, page.page_height = Cm(21.0), Cm(29.7)
    page.left_margin = page.right_margin = Cm(_MARGIN)
    page.top_margin = page.bottom_margin = Cm(_MARGIN)
    word.styles["Normal"].font.name, word.styles["Normal"].font.size = "Calibri", Pt(_BODY)
    for level, size in enumerate((22, 15, 12)):
        style = word.styles["Title" if level == 0 else f"Heading {level}"]
        style.font.name, style.font.size, style.font.color.rgb = "Calibri", Pt(size), RGBColor.from_string(_BLUE)
    foot = page.footer.paragraphs[0]
    foot.alignment = 2
    _field_(foot, "PAGE", "1")
    foot.add_run(" / ")
    _field_(foot, "NUMPAGES", "1")


def _section_(word: Any, title: str, section: Section, number: int) -> None:
    heading = word.add_heading(title, 1)
    _bookmark_(heading, f"section_{number}", number)
    for block in section.blocks:
        _add(block, word)


def _contents_(word: Any, document: Document) -> None:
    """A field that Word fills in with page numbers; until then it holds the headings, as links."""
    _paragraph(word, "Contents", bold=True, colour=_BLUE, size=15.0)
    numbered = document.numbered()
    for i, (title, _) in enumerate(numbered):
        paragraph = word.add_paragraph()
        paragraph.paragraph_format.space_after = 0
        if i == 0:
            _mark_(paragraph, "begin")
            _code_(paragraph, r'TOC \o "1-2" \h \z \u')
            _mark_(paragraph, "separate")
        _link_(paragraph, f"section_{i}", title)
        if i == len(numbered) - 1:
            _mark_(paragraph, "end")


# ---- pieces of XML for which python-docx has no calls ------------------------------------------------------------


def _element(tag: str, /, **attributes: str) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    for key, value in attributes.items():
        element.set(qn(f"w:{key}"), value)
    return element


def _field_(paragraph: Any, code: str, shown: str) -> None:
    _mark_(paragraph, "begin")
    _code_(paragraph, code)
    _mark_(paragraph, "separate")
    paragraph.add_run(shown)
    _mark_(paragraph, "end")


def _mark_(paragraph: Any, kind: str) -> None:
    paragraph.add_run()._r.append(_element("w:fldChar", fldCharType=kind))


def _code_(paragraph: Any, code: str) -> None:
    instruction = _element("w:instrText")
    instruction.text = code
    paragraph.add_run()._r.append(instruction)


def _link_(paragraph: Any, bookmark: str, text: str) -> None:
    link = _element("w:hyperlink", anchor=bookmark)
    run = paragraph.add_run(text)
    link.append(run._r)
    paragraph._p.append(link)


def _bookmark_(paragraph: Any, name: str, number: int) -> None:
    paragraph._p.get_or_add_pPr().addnext(_element("w:bookmarkStart", id=str(number), name=name))
    paragraph._p.append(_element("w:bookmarkEnd", id=str(number)))


def _shade_(properties: Any, colour: str) -> None:
    properties.append(_element("w:shd", val="clear", color="auto", fill=colour))


# ---- blocks ------------------------------------------------------------------------------------------------------


def _paragraph(
    word: Any, text: str, *, bold: bool = False, colour: str | None = None, size: float | None = None,
    style: str | None = None,
) -> Any:  # fmt: skip
    paragraph = word.add_paragraph(style=style)
    _run_(paragraph, text, bold=bold, colour=colour, size=size)
    return paragraph


def _run_(
    paragraph: Any, text: str, *, bold: bool = False, colour: str | None = None, size: float | None = None
) -> None:
    from docx.shared import Pt, RGBColor

    run = paragraph.add_run(text)
    if isinstance(text, Mark) and text.tone != "plain":
        bold, colour = True, _COLOURS[text.tone]
    run.bold = bold or None
    if colour is not None:
        run.font.color.rgb = RGBColor.from_string(colour)
    if size is not None:
        run.font.size = Pt(size)


@singledispatch
def _add(block: Block, word: Any) -> None:
    for plainer in simpler(block):
        _add(plainer, word)


@_add.register
def _(block: blocks.Heading, word: Any) -> None:
    word.add_heading(block.text, 2)


@_add.register
def _(block: blocks.Paragraph, word: Any) -> None:
    _paragraph(word, block.text)


@_add.register
def _(block: blocks.Note, word: Any) -> None:
    paragraph = _paragraph(word, block.text, colour=_COLOURS[block.tone])
    _shade_(paragraph._p.get_or_add_pPr(), _TINTS[block.tone])


@_add.register
def _(block: blocks.Bullets, word: Any) -> None:
    for item in block.items:
        _paragraph(word, item, style="List Bullet").paragraph_format.space_after = 0


@_add.register
def _(block: blocks.Fold, word: Any) -> None:
    from docx.shared import Cm

    verdict = "" if block.verdict is None else f"{block.verdict}: "
    paragraph = _paragraph(word, f"{verdict}{block.title}. ", colour=_GREY, size=9.0, bold=True)
    paragraph.paragraph_format.left_indent = Cm(0.8)
    first, *others = block.blocks
    if isinstance(first, blocks.Paragraph):
        _run_(paragraph, first.text, colour=_GREY, size=9.0)
    for inside in others if isinstance(first, blocks.Paragraph) else block.blocks:
        _add(inside, word)


@_add.register
def _(block: blocks.Code, word: Any) -> None:
    paragraph = _paragraph(word, block.text, size=8.0)
    paragraph.runs[0].font.name = "Consolas"
    _shade_(paragraph._p.get_or_add_pPr(), _TINTS["plain"])


@_add.register
def _(block: blocks.Table, word: Any) -> None:
    from docx.shared import Cm

    _caption_(word, block.caption)
    head = [block.names] if any(block.names) else []
    lines = [*head, *block.rows]
    table = word.add_table(rows=len(lines), cols=len(block.names), style="Table Grid")
    table.autofit = False
    size, widths = (_SMALL if len(block.names) > _MOST_COLUMNS else _SMALL + 0.5), _widths(lines)
    for column, width in zip(table.columns, widths, strict=True):
        column.width = Cm(width)
    cells = iter(table._cells)  # all at once: looking one up takes as long as the table is large
    for line in lines:
        for place, text in enumerate(line):
            _fill_(next(cells), text, place in block.left, line is block.names, size, widths[place])
    _lay_out_rows_(table, bool(head))
    word.add_paragraph().paragraph_format.space_after = 0


def _widths(lines: list[Any]) -> list[float]:
    """Widths of columns in centimetres: room for the longest word, and more of the rest the longer the texts."""
    least, wanted = [], []
    for column in zip(*lines, strict=True):
        word = max((len(part) for text in column for part in text.split()), default=0)
        least.append(_PADDING + _LETTER * min(word, _LONGEST_WORD))
        wanted.append(max(_PADDING + _LETTER * min(max(map(len, column)), _LONGEST_TEXT), least[-1]))
    room, more = max(_WIDE - sum(least), 0.0), sum(wanted) - sum(least)
    widths = [low + room * (high - low) / more if more else low for low, high in zip(least, wanted, strict=True)]
    return [_WIDE * width / sum(widths) for width in widths]


def _fill_(cell: Any, text: str, left: bool, head: bool, size: float, width: float) -> None:
    from docx.shared import Cm

    cell.width = Cm(width)
    paragraph = cell.paragraphs[0]
    paragraph.paragraph_format.space_before = paragraph.paragraph_format.space_after = _ROOM
    paragraph.alignment = 0 if left else 2
    _run_(paragraph, text, bold=head, size=size)
    if head:
        _shade_(cell._tc.get_or_add_tcPr(), _TINT)


def _lay_out_rows_(table: Any, head: bool) -> None:
    """Grey lines between rows; none is split between pages, and the names are repeated on each."""
    rows = table._tbl.tr_lst
    for row in rows:
        row.get_or_add_trPr().append(_element("w:cantSplit", val="true"))
    if head:
        rows[0].get_or_add_trPr().append(_element("w:tblHeader", val="true"))
    borders = _element("w:tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        kind = "single" if side in ("top", "bottom", "insideH") else "nil"
        borders.append(_element(f"w:{side}", val=kind, sz="4", space="0", color=_LINE))
    table._tbl.tblPr.append(borders)


def _caption_(word: Any, text: str) -> None:
    paragraph = _paragraph(word, text, bold=True, size=9.5)
    paragraph.paragraph_format.space_before = 4 * _ROOM
    paragraph.paragraph_format.keep_with_next = True
    paragraph.paragraph_format.space_after = 0


@_add.register
def _(block: blocks.Picture, word: Any) -> None:
    paragraph = word.add_paragraph()
    paragraph.paragraph_format.keep_with_next = True
    _picture_(paragraph, block, _WIDE if block.wide else _HALF)
    _paragraph(word, block.caption, colour=_GREY, size=9.0)


@_add.register
def _(block: blocks.Gallery, word: Any) -> None:
    table = word.add_table(rows=-(-len(block.pictures) // 2), cols=2)
    cells = table._cells
    for cell, picture in zip(cells, block.pictures, strict=False):
        _picture_(cell.paragraphs[0], picture, _HALF)
        _run_(cell.add_paragraph(), picture.caption, colour=_GREY, size=9.0)
    for row in table._tbl.tr_lst:
        row.get_or_add_trPr().append(_element("w:cantSplit", val="true"))


def _picture_(paragraph: Any, picture: blocks.Picture, width: float) -> None:
    from docx.shared import Cm

    shape = paragraph.add_run().add_picture(BytesIO(picture.png), width=Cm(width))
    shape._inline.docPr.set("descr", picture.caption)

"""Formulas written in Unicode, such as λ_k(A₀ + Σ x_i A_i) in a docstring, found in prose and typeset.

Docstrings stay readable in ``help()``; the pages show mathematics. :func:`typeset` finds the runs of a text that are
formulas, and ``unicode_tex`` turns one of them into TeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unicode_tex import FUNCTIONS, GREEK, HIGH, LIMITS, LOW, SIGNS, WORDS, tex

LETTER = f"A-Za-z{''.join(GREEK)}"
HANGING_FORMS = "|".join([  # what hangs below or above a letter
    r"_\{[^}\s]+\}",
    r"_[A-Za-z0-9]{1,2}(?![A-Za-z0-9_])",
    r"_(?:min|max)\b",
    r"\^\{[^}]+\}",
    r"\^[-−]?(?:\.\d+|[\w½¼]+(?:\.\d+)?)",
    f"[{''.join(LOW)}{''.join(HIGH)}′']+",
])  # fmt: skip
HANGING = f"(?:{HANGING_FORMS})"
JOINED = "(?:[dxyct][AIBRΔλ]|d[txv](?![a-z]))"  # factors written without a space
TOKEN = re.compile(
    rf"""(?P<opaque>``.*?``|:\w+:`[^`]*`|\*\*\S[^*]*\*\*|`[^`]*`_*|\b[A-Za-z]\w*_(?![\w{{])|[A-Za-z]\w*_(?!min\b|max\b)\w{{3,}}\b)
    |(?P<atom>(?:(?:\b{JOINED}|[{LETTER}]|\b(?:vv|PD)|\b[a-z]{{2,9}}(?=_[a-z]\b)){HANGING}+)
        |(?<![A-Za-z0-9])(?:{JOINED}|[{LETTER}])(?![A-Za-z0-9_]))
    |(?P<hang>(?<=[)\]‖∫\d⟩]){HANGING}+)
    |(?P<name>\b(?:{"|".join(sorted(FUNCTIONS | LIMITS | WORDS))})\b(?!\.))
    |(?P<number>\d+(?:[.,]\d+)*)
    |(?P<word>[A-Za-z][\w'’-]*)
    |(?P<sign>[=+/<>|,^()\[\]\-{"".join(SIGNS)}‖√½¼]|:(?=\s[‖λ]))
    |(?P<space>\ +)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
STRONG = re.compile(rf"[λΣ‖√⪰⪯∫⟨{''.join(LOW)}{''.join(HIGH)}]|[{LETTER}][_^][−\w{{]|\b[{LETTER}] [≤≥] ")
LITERAL = re.compile(r"(``.*?``|:\w+:`[^`]*`)")
TABLE = re.compile(r"\s*=+( +=+)+$")
SCIKIT_LEARN = re.compile(r":ref:`([^<`]*?) <[^>]*>`")
BINARY = "=+/<>≤≥⪰⪯∈≠⊆·×−→"
LOOSE_STARTS = frozenset(BINARY) | set(",)]}/^:")
LOOSE_ENDS = frozenset(BINARY) | set(",([{-√Σ:")
PAIRS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}
MIRROR = PAIRS | {closed: opened for opened, closed in PAIRS.items()}


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for found in TOKEN.finditer(text):
        yield found.lastgroup or "other", found[0]


def _runs(text: str) -> Iterator[tuple[bool, list[tuple[str, str]]]]:
    """Maximal runs of tokens that may belong to a formula, and what is between them."""
    run: list[tuple[str, str]] = []
    for kind, token in _tokens(text):
        if kind in ("atom", "hang", "name", "number", "sign", "space"):
            run.append((kind, token))
            continue
        if run:
            yield True, run
            run = []
        yield False, [(kind, token)]
    if run:
        yield True, run


def _parts(run: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """A run, cut at commas that stand outside of brackets, and before a bracket that it does not close."""
    part: list[tuple[str, str]] = []
    depth = 0
    for place, token in enumerate(run):
        if token[1] in "([" and part and not _closes(run, place, len(run)):
            yield part
            part = []
        depth += token[1] in PAIRS
        depth -= token[1] in PAIRS.values()
        if token[1] == "," and depth <= 0:
            yield part
            yield [token]
            part = []
        else:
            part.append(token)
    yield part


def _trimmed(part: list[tuple[str, str]]) -> tuple[int, int]:
    """From where to where a part is a formula: no spaces, operators or open brackets at its ends."""
    begin, end = 0, len(part)
    while begin < end and _is_loose_start(part, begin, end):
        begin += 1
    while begin < end and _is_loose_end(part, begin, end):
        end -= 1
    return (begin, end) if begin == 0 or end == len(part) else _shifted(part, begin, end)


def _shifted(part: list[tuple[str, str]], begin: int, end: int) -> tuple[int, int]:
    """Once more from the left: a bracket may have lost its partner on the right."""
    while begin < end and _is_loose_start(part, begin, end):
        begin += 1
    return begin, end


def _is_loose_start(part: list[tuple[str, str]], begin: int, end: int) -> bool:
    kind, token = part[begin]
    if kind == "space" or token in LOOSE_STARTS or _is_article(part, begin, end):
        return True
    return token in PAIRS and not _closes(part, begin, end)


def _is_loose_end(part: list[tuple[str, str]], begin: int, end: int) -> bool:
    kind, token = part[end - 1]
    if kind == "space" or token in LOOSE_ENDS or _is_prose_end(part, end):
        return True
    return token in MIRROR and token not in PAIRS and not _opens(part, begin, end)


def _is_article(part: list[tuple[str, str]], begin: int, end: int) -> bool:
    """Whether a part begins with the word "a" or "A", and not with a letter of the formula."""
    if part[begin][1] not in ("a", "A") or begin + 1 >= end or part[begin + 1][0] != "space":
        return False
    return begin + 2 >= end or part[begin + 2][1] not in BINARY + "-"


def _is_prose_end(part: list[tuple[str, str]], end: int) -> bool:
    """Whether a part ends with the word "a"."""
    return part[end - 1][1] == "a" and end > 2 and part[end - 2][0] == "space" and part[end - 3][1] not in BINARY


def _closes(part: list[tuple[str, str]], begin: int, end: int) -> bool:
    """Whether the bracket at ``begin`` is closed before ``end``."""
    opened, depth = part[begin][1], 0
    for _, token in part[begin:end]:
        depth += (token == opened) - (token == PAIRS[opened])
        if depth == 0:
            return True
    return False


def _opens(part: list[tuple[str, str]], begin: int, end: int) -> bool:
    """Whether the bracket that ends at ``end`` is opened after ``begin``."""
    mirrored = [(kind, MIRROR.get(token, token)) for kind, token in reversed(part[begin:end])]
    return _closes(mirrored, 0, len(mirrored))


def _is_formula(text: str) -> bool:
    balanced = all(text.count(one) == text.count(other) for one, other in PAIRS.items()) and text.count("‖") % 2 == 0
    return bool(STRONG.search(text)) and balanced and text.count("|") % 2 == 0


def typeset(text: str, wrap: str = r":math:`{}`") -> str:
    """Prose with every formula in it as ``wrap`` shows it; literals, roles and identifiers stay."""
    done: list[str] = []
    for mathematical, run in _runs(text):
        for part in _parts(run) if mathematical else [run]:
            begin, end = _trimmed(part) if mathematical else (0, 0)
            words = "".join(token for _, token in part)
            formula = "".join(token for _, token in part[begin:end])
            if mathematical and formula and _is_formula(formula):
                head = "".join(token for _, token in part[:begin])
                tail = "".join(token for _, token in part[end:])
                done += [head, wrap.format(tex(formula)), tail]
            else:
                done.append(words)
    return "".join(done)


def _displayed(lines: list[str]) -> list[str]:
    """Literal blocks that hold nothing but formulas as lines of prose, which can be typeset."""
    found = list(lines)
    for start, line in enumerate(lines):
        if not line.rstrip().endswith("::") or line.lstrip().startswith(".. "):
            continue
        block = _indented(lines[start + 1 :], _margin(line))
        if all(STRONG.search(one) for one in block if one.strip()):
            found[start] = line.rstrip()[:-1]
            shown = [re.sub(r"(?<=\S) {3,}", "\u2003", one) for one in block]
            found[start + 1 : start + 1 + len(block)] = [re.sub(r"^(\s*)(?=\S)", r"\1| ", one) for one in shown]
    return found


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(lines: list[str], margin: int) -> list[str]:
    """The first of these lines, up to one that is not indented by more than a margin."""
    inside = (not line.strip() or _margin(line) > margin for line in lines)
    return lines[: next((place for place, deeper in enumerate(inside) if not deeper), len(lines))]


def typeset_lines(lines: list[str]) -> list[str]:
    """Lines of a docstring, typeset but for doctests, code and tables, whose columns must stay aligned."""
    lines = _displayed(lines)
    found: list[str] = []
    literal: int | None = None
    block: list[str] = []  # the lines before, up to a blank one
    for line in lines:
        indent = _margin(line)
        block = [*block, line] if line.strip() else []
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        is_plain = literal is not None or not line.strip() or _is_code(block)
        found.append(line if is_plain else _typeset_line(line))
        if literal is None and line.rstrip().endswith("::"):
            literal = indent
    return found


def _typeset_line(line: str) -> str:
    """A line of prose, with the bar before it that keeps it a line of its own."""
    bar = re.match(r"\s*\| |", line)
    begin = bar.end() if bar else 0
    return line[:begin] + _separated(typeset(line[begin:]))


def _is_code(block: list[str]) -> bool:
    """Whether the last line of a block belongs to a doctest, to a directive or to a table."""
    last = block[-1].lstrip()
    doctest = any(line.lstrip().startswith(">>>") for line in block)
    return doctest or last.startswith(".. ") or bool(TABLE.match(block[0]))


def _separated(line: str) -> str:
    """Roles need a space or punctuation around them, a backslash and a space are none; other markup is none at all."""
    line = re.sub(r"(?<=[\w’])(?=:math:`)", r"\\ ", line)
    line = re.sub(r"(:math:`[^`]*`)(?=[\w])", r"\1\\ ", line)
    return "".join(part if part[:1] in ":`" else _escaped(part) for part in LITERAL.split(line))


def _escaped(text: str) -> str:
    """|x| is no substitution, and the star of ``(*contexts, n)`` no emphasis."""
    text = re.sub(r"(?<!\\)\|", r"\|", text)
    return re.sub(r"(?<=[(\s])\*(?=\w)(?![^*]*\w\*)", r"\*", text)


def _process(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    if getattr(obj, "__module__", "").startswith("sklearn"):  # its labels are on its own site
        lines[:] = [SCIKIT_LEARN.sub(r"\1", line) for line in lines]
    lines[:] = typeset_lines(lines)


def setup(app) -> dict[str, bool]:
    """Typeset every docstring before napoleon reads it."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

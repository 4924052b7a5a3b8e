r"""Shapes as text, as a command line has them: ``Valley(age, at=45)`` or what ``repr`` prints.

    shape  = NAME "(" [argument {"," argument}] ")"
    argument = [WORD "="] value
    value  = word | quoted | "[" values "]" | "(" values ")" | "{" value ":" value "," … "}"

A word is text without quotes, up to the next ``, : = ( ) [ ] { } ' "``: a number where it reads as one, else a name.
Nothing is evaluated: the text can only name classes of :mod:`lambdak.shapes.registry`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any, NoReturn, final

from lambdak.shapes.contract import Shape
from lambdak.shapes.registry import SHAPES
from lambdak.table.close_names import asked

MOST_TEXT = 10_000  # characters: all columns of a wide table fit in, and no stack or memory runs out
_DEEPEST = 8  # brackets within brackets; shapes need three
_TOKEN = re.compile(r"""\s*(?:([][(){},:=])|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([^][(){},:='"]+))""", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_CONSTANTS = {"None": None, "True": True, "False": False}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_END = ""


def read_shape(text: str) -> Shape:
    """Return the shape that a text says, with or without quotes around names.

    >>> read_shape("MaxInfluence([sex, 'job title'], cap=0.1)")
    MaxInfluence(('sex', 'job title'), cap=0.1)
    """
    reader = _Reader(text)
    name, values, named = reader.call()
    shape = SHAPES.get(name)
    if shape is None:
        raise ValueError(f"{reader} names no shape {name!r}{asked(name, SHAPES)} Shapes are {', '.join(SHAPES)}")
    try:
        inspect.signature(shape).bind(*values, **named)
    except TypeError as error:
        parameters = inspect.signature(shape).parameters
        unknown = [own for own in named if own not in parameters]
        hint = asked(unknown[0], parameters) if unknown else ""
        raise ValueError(f"{reader} must be {signature(shape)}: {error}{hint}") from None
    try:
        found = shape(*values, **named)
        keys = found.keys
    except (TypeError, ValueError) as error:
        raise ValueError(f"{reader} is refused: {error}") from error
    wrong = [key for key in keys if isinstance(key, bool) or not isinstance(key, str | int)]
    if wrong:
        raise ValueError(f"{reader} must name columns by name or position; got {wrong[0]!r}: {signature(shape)}")
    return found


def signature(shape: type[Shape]) -> str:
    """Return how a shape is written.

    >>> signature(SHAPES["Rising"])
    'Rising(column, order=None)'
    """
    parameters = [own for own in inspect.signature(shape).parameters.values() if own.name != "chosen"]
    said = [str(own.replace(annotation=inspect.Parameter.empty)) for own in parameters]
    return f"{shape.__name__}({', '.join(said)})"


def is_plain(name: str) -> bool:
    """Return whether a name may stand in a constraint without quotes.

    >>> [is_plain(name) for name in ("driver age", "a,b", "45", "None", " x")]
    [True, False, False, False, False]
    """
    match = _TOKEN.fullmatch(name)
    return match is not None and match[3] == name == name.strip() and _word(name) is name


@final
class _Reader:
    """The tokens of a text, from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_TEXT:
            raise ValueError(f"a constraint must have at most {MOST_TEXT:,} characters; got {len(text):,}")
        self.text = text
        self._tokens = list(self._cut())
        self._place = 0

    def __str__(self) -> str:
        short = self.text if len(self.text) <= 120 else self.text[:119] + "…"
        return f"constraint {short!r}"

    def call(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Return the name of the shape, and its arguments without and with names."""
        kind, name = self._next()
        if kind != "word":
            self._refuse("must begin with the name of a shape, as in Rising(age)")
        self._expect("(")
        values: list[Any] = []
        named: dict[str, Any] = {}
        while not self._took(")"):
            key, value = self._argument()
            if key is None:
                if named:
                    self._refuse(f"has {value!r} after an argument with a name: name it, too")
                values.append(value)
            elif key in named:
                self._refuse(f"gives {key!r} twice")
            else:
                named[key] = value
            if not self._took(","):
                self._expect(")")
                break
        if self._next()[1] != _END:
            self._refuse("goes on after its last bracket: give one shape at a time")
        return name, values, named

    def _argument(self) -> tuple[str | None, Any]:
        kind, key = self._tokens[self._place]
        if kind == "word" and self._tokens[self._place + 1] == ("mark", "="):
            self._place += 2
            return key, self._value(0)
        return None, self._value(0)

    def _value(self, depth: int) -> Any:
        kind, token = self._next()
        if kind == "quoted":
            return self._unquoted(token)
        if kind == "word":
            return _word(token)
        if token not in _CLOSING:
            self._refuse(f"has {token!r} where a column, a number or a list should be" if token else "ends too early")
        if depth == _DEEPEST:
            self._refuse(f"has brackets more than {_DEEPEST} deep")
        return self._many(token, depth + 1)

    def _many(self, opening: str, depth: int) -> Any:
        """Return a list, a tuple or a dict after its first bracket; (a) is a, as in Python."""
        closing, values, comma = _CLOSING[opening], [], False
        while not self._took(closing):
            value = self._value(depth)
            if opening == "{":
                self._expect(":")
                value = self._hashable(value), self._value(depth)
            values.append(value)
            comma = self._took(",")
            if not comma:
                self._expect(closing)
                break
        if opening == "{":
            return dict(values)
        return values if opening == "[" else values[0] if len(values) == 1 and not comma else tuple(values)

    def _hashable(self, key: Any) -> Any:
        return key if isinstance(key, str | int | float) else self._refuse(f"has {key!r} where a column should be")

    def _unquoted(self, token: str) -> str:
        try:
            return str(ast.literal_eval(token))
        except (ValueError, SyntaxError):
            self._refuse(f"has {token} in quotes, which is no text that Python could print")

    def _took(self, mark: str) -> bool:
        found = self._tokens[self._place] == ("mark", mark)
        self._place += found
        return found

    def _expect(self, mark: str) -> None:
        kind, token = self._tokens[self._place]
        if (kind, token) != ("mark", mark):
            got = repr(token) if token else "its end"
            shape = SHAPES.get(self._tokens[0][1])
            form = f", as in {signature(shape)}" if shape and mark == "(" else ""
            self._refuse(f"needs {mark!r} before {got}{form}; names with marks such as commas stand in quotes")
        self._place += 1

    def _next(self) -> tuple[str, str]:
        token = self._tokens[self._place]
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _cut(self) -> Iterator[tuple[str, str]]:
        """Yield kinds and texts of tokens, the end last."""
        place, text = 0, self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                self._refuse("has a quote that does not end")
            mark, quoted, word = match.groups()
            yield ("mark", mark) if mark else ("quoted", quoted) if quoted else ("word", word.strip())
            place = match.end()
        yield "end", _END

    def _refuse(self, words: str) -> NoReturn:
        raise ValueError(f"{self} {words}")


def _word(token: str) -> Any:
    """Return what a word without quotes stands for: a number, None, a boolean, or itself."""
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if not _NUMBER.fullmatch(token):
        return token
    return float(token) if re.search(r"[.eE]", token) or len(token) > 300 else int(token)

"""Shapes as text: what is printed can be read again, names need no quotes, and nothing else is accepted or run."""

from __future__ import annotations

import inspect
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shape_cases import CONSTRAINTS

from lambdak.shapes import (
    Anchored,
    Complements,
    Concave,
    Convex,
    Dominates,
    Falling,
    Interactions,
    MaxInfluence,
    MaxSlope,
    OutputRange,
    Peak,
    Rising,
    RisingAlong,
    Substitutes,
    Valley,
)
from lambdak.shapes.contract import Shape
from lambdak.shapes.registry import SHAPES
from lambdak.shapes.spelling import MOST_TEXT, is_plain, read_shape, signature

SPELLED = {
    "Rising(age)": Rising("age"),
    " Rising ( driver age ) ": Rising("driver age"),
    "Falling(column=age)": Falling("age"),
    "Falling(2)": Falling(2),
    "Rising('2')": Rising("2"),
    "Rising(rating, order=[C, B, A])": Rising("rating", order=["C", "B", "A"]),
    "Rising(rating, order=(C, 'B, or so',))": Rising("rating", order=["C", "B, or so"]),
    "Convex()": Convex(),
    "Concave(age, 'dose (mg)')": Concave("age", "dose (mg)"),
    'Concave("it\'s",)': Concave("it's"),
    "MaxInfluence(age, 1e-3)": MaxInfluence("age", 0.001),
    "MaxInfluence([age, sex], cap=.5)": MaxInfluence(("age", "sex"), 0.5),
    "MaxInfluence((age), 2)": MaxInfluence("age", 2),
    "Interactions([[age, bmi], [sex]])": Interactions([["age", "bmi"], ["sex"]]),
    "Interactions(pairwise)": Interactions("pairwise"),
    "Valley(age, at=45)": Valley("age", at=45),
    "Peak(month, at=July)": Peak("month", at="July"),
    "MaxSlope(None, 0.5)": MaxSlope(None, 0.5),
    "MaxSlope({area: 10, floor: -1}, limit=150)": MaxSlope({"area": 10, "floor": -1}, 150),
    "Complements(school, experience)": Complements("school", "experience"),
    "Substitutes(tv, 'web')": Substitutes("tv", "web"),
    "Dominates(unsecured, secured)": Dominates("unsecured", "secured"),
    "RisingAlong({own_funds: 1, 'loan': -1})": RisingAlong({"own_funds": 1, "loan": -1}),
    "OutputRange(0, 100)": OutputRange(0, 100),
    "OutputRange(high=0.9)": OutputRange(high=0.9),
    "Anchored(claims, 0)": Anchored("claims", 0),
    "Anchored(region, cell=north)": Anchored("region", "north"),
    "Rising(größe_m²)": Rising("größe_m²"),
    r"Rising('a\'b\n')": Rising("a'b\n"),
}


EXAMPLES = [*SPELLED.values(), *(shape for shapes in CONSTRAINTS.values() for shape in shapes)]


def test_every_shape_has_examples_and_what_it_prints_reads_as_itself():
    assert {type(shape) for shape in EXAMPLES} == set(SHAPES.values())
    for shape in EXAMPLES:
        assert read_shape(repr(shape)) == shape
        assert repr(read_shape(repr(shape))) == repr(shape)


@pytest.mark.parametrize("text", SPELLED)
def test_a_shape_may_be_spelled_as(text):
    found = read_shape(text)
    assert found == SPELLED[text]
    assert type(found) is type(SPELLED[text])


FAULTS = {
    "": "must begin with the name of a shape, as in Rising(age)",
    "Risin(age)": "names no shape 'Risin'. Did you mean 'Rising'? Shapes are Rising, ",
    "age": "needs '(' before its end",
    "Valley": "needs '(' before its end, as in Valley(column, at=None)",
    "Valley(age, turn=45)": "must be Valley(column, at=None): got an unexpected keyword argument 'turn'",
    "Rising(age": "needs ')' before its end; names with marks such as commas stand in quotes",
    "Rising(age, order=[C": "needs ']' before its end",
    "Rising(": "ends too early",
    "Rising(age))": "goes on after its last bracket: give one shape at a time",
    "Rising(age), Rising(bmi)": "goes on after its last bracket",
    "Rising('age)": "has a quote that does not end",
    "Rising(age, ordr=[A])": "must be Rising(column, order=None): got an unexpected keyword argument 'ordr'. Did you",
    "MaxInfluence(age)": "must be MaxInfluence(columns, cap): missing a required argument: 'cap'",
    "MaxInfluence(age, cap=1, cap=2)": "gives 'cap' twice",
    "MaxInfluence(cap=1, age)": "has 'age' after an argument with a name: name it, too",
    "MaxInfluence(age, cap=-1)": "is refused: cap of MaxInfluence must be a number that is not negative; got -1",
    "Rising([age])": "must name columns by name or position; got ['age']: Rising(column, order=None)",
    "Rising(1.5)": "must name columns by name or position; got 1.5",
    "Rising({age: 1})": "must name columns by name or position; got {'age': 1}",
    "Rising(None)": "must name columns by name or position; got None",
    "Convex(a,,b)": "has ',' where a column, a number or a list should be",
    "Rising({[a]: 1})": "has ['a'] where a column should be",
    "Rising(" + "[" * 500: "has brackets more than 8 deep",
    "Rising(__import__('os').system('true'))": "needs ')' before '('",
    "Shape(age)": "names no shape 'Shape'",
    "__import__('os')": "names no shape '__import__'",
    "Rising(age" + "e" * MOST_TEXT: "must have at most 10,000 characters",
    "Rising('\\N{no such letter}')": "in quotes, which is no text that Python could print",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: text[:40])
def test_what_says_no_shape_is_refused(text):
    with pytest.raises(ValueError, match="constraint") as caught:
        read_shape(text)
    assert FAULTS[text] in str(caught.value)
    assert len(str(caught.value)) < 600


@given(st.text(st.sampled_from(string.printable + "ä\x00\u202e"), max_size=60) | st.text(max_size=60))
def test_hostile_text_is_a_shape_or_a_value_error_and_what_it_says_of_names_is_data(text):
    for spelled in (text, f"Rising({text})", f"MaxInfluence({text}, 1)", f"Interactions({text})"):
        try:
            found = read_shape(spelled)
        except ValueError:
            continue
        assert isinstance(found, Shape)
        assert all(type(key) in (str, int) for key in found.keys)


@given(st.text(min_size=1, max_size=30))
def test_any_name_can_be_given_in_quotes_and_a_plain_one_without(name):
    assert read_shape(repr(Rising(name))) == Rising(name)
    if is_plain(name):
        assert read_shape(f"Rising({name})") == Rising(name)


def test_signatures_are_those_of_the_classes():
    for shape in SHAPES.values():
        written = signature(shape)
        assert written.startswith(f"{shape.__name__}(")
        parameters = set(inspect.signature(shape).parameters)
        assert all(name in written for name in parameters - {"chosen"})  # models say so, users do not

"""What a search found, in print and as data."""

from __future__ import annotations

from claim_cases import strict
from fitted_models import X, fitted

from lambdak.certify import Check, Verification

TRIED = Check("monotone", "age", "the prediction never falls as age rises", 1234, 5, -0.25, True)
NOTHING = Check("influence", "same", "no change moves a raw score by more", 0, 0, None, False)
NO_NUMBER = Check("numbers", "predictions", "every prediction is a number", 10, 7, None, False)


def test_it_prints_as_a_table_and_as_strict_json():
    found = fitted("regressor").verify(X, n=200)
    text = str(found)
    assert "The search for a counterexample" in text
    assert "0 violations" in text
    assert "the prediction never falls" in text
    assert max(map(len, text.splitlines())) <= 110
    plain = strict(found.to_json())
    assert plain == found.to_dict()
    assert plain["violations"] == 0


def test_nothing_to_try_and_what_is_no_number_are_said_in_words():
    found = Verification((TRIED, NOTHING, NO_NUMBER))
    assert found.violations == 12
    assert TRIED.cells()[2:] == ("1,234", "5", "-0.25", "yes")
    assert NOTHING.cells()[2:] == ("nothing to try", "", "", "")
    assert NO_NUMBER.cells()[2:] == ("10", "7", "not a number", "")
    words = " ".join(str(found).split())
    assert "nothing to try" in words
    assert "12 violations" in words
    assert [each["margin"] for each in strict(found.to_json())["checks"]] == [-0.25, None, None]

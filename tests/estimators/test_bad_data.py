"""Bad data: every row of the guide's table is a case, and what the row says is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import bad_columns  # noqa: F401  these modules add their cases
import bad_tables  # noqa: F401
import bad_targets  # noqa: F401
import pytest
from bad_data import CASES

# Cases give one table in many forms, with names and without; the two cases about names look at these warnings.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X (does not have|has).*feature names"),
    pytest.mark.filterwarnings("ignore:.*look like identifiers"),
]
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "bad-data.md"
ROW = re.compile(r"^\| (?!What you give)(?!-)(.*?) \| (.*?) \|$", re.MULTILINE)
OUTCOMES = dict(ROW.findall(PAGE.read_text()))
RUNS = [pytest.param(case, kind, id=f"{case.given}-{kind.estimator.__name__}") for case in CASES for kind in case.kinds]


def test_the_page_lists_each_case_once():
    given = [case.given for case in CASES]
    assert len(set(given)) == len(given)
    assert sorted(OUTCOMES) == sorted(given)
    assert len(ROW.findall(PAGE.read_text())) == len(given)


@pytest.mark.parametrize(("case", "kind"), RUNS)
def test_bad_data_do_what_the_page_says(case, kind):
    refused = re.match(r"refused: `([^`]+)`", OUTCOMES[case.given])
    if refused:
        with pytest.raises((ValueError, TypeError, OSError), match=re.escape(refused[1])):
            case.run(kind)
    else:
        case.run(kind)

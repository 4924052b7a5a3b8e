"""The script behind the page "From table to tariff" finds all that the page shows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("tariff", ROOT / "examples" / "tariff.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_block_and_picture_of_the_page_is_computed():
    own = script()
    page = own.PAGE.read_text()
    blocks = list(own.BLOCK.finditer(page))
    assert [block["code"] for block in blocks] == re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert sum(block["text"] is not None for block in blocks) == page.count("```text\n")
    assert [block["picture"] for block in blocks if block["picture"]] == re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)


def test_what_a_block_prints_is_returned_and_printed(capsys):
    assert script().run("x = 2\nprint(x + 1)\n", {}) == "3\n"
    assert "3" in capsys.readouterr().out

"""The code blocks of the README and of the guide run, each page from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page):
    blocks = BLOCK.findall(page.read_text())
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    modules = [path.name for path in (ROOT / "src" / "lambdak").glob("*.py") if path.name != "__init__.py"]
    natives = [path.name for path in (ROOT / "src" / "lambdak" / "_native").glob("*.*pp")]
    assert [name for name in [*modules, *natives] if name not in text] == []


def test_relative_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "docs" / "index.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

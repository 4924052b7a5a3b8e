"""The code blocks of the README and of the guide run, each page from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def policies(rows=2000):
    """A table like freMTPL2freq, which is not here: nothing in the pages depends on its numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "ClaimNb": rng.poisson(0.1, rows), "Exposure": rng.uniform(0.1, 1.0, rows),
        "VehPower": rng.integers(4, 16, rows), "VehAge": rng.integers(0, 30, rows),
        "DrivAge": rng.integers(18, 90, rows), "BonusMalus": rng.integers(50, 150, rows),
        "Density": rng.integers(1, 27000, rows),
    })  # fmt: skip
    for name in ("VehBrand", "VehGas", "Area", "Region"):
        table[name] = rng.choice(["A", "B", "C"], rows)
    return table


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own forward mode
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **__: SimpleNamespace(frame=policies()))
    blocks = BLOCK.findall(page.read_text())
    assert blocks
    if "lambdak.jax" in page.read_text():
        pytest.importorskip("jax", reason="JAX is not installed")
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    modules = [path.name for path in (ROOT / "src" / "lambdak").glob("*.py") if path.name != "__init__.py"]
    natives = [path.name for path in (ROOT / "src" / "lambdak" / "eigen" / "native").glob("*.*pp")]
    assert [name for name in [*modules, *natives] if name not in text] == []


def test_relative_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "docs" / "index.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

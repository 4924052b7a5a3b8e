"""The code blocks of the README and of the guide run, each page from top to bottom, and print what the page says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "lambdak"
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
WITHOUT_CODE = {"glossary.md"}

_spec = importlib.util.spec_from_file_location("page_outputs", ROOT / ".ci" / "page_outputs.py")
page_outputs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page_outputs)


def policies(rows=600):
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


CREDIT = {
    "checking_status": ["<0", "0<=X<200", ">=200", "no checking"],
    "credit_history": ["all paid", "critical/other existing credit", "delayed previously", "existing paid",
                       "no credits/all paid"],
    "purpose": ["business", "domestic appliance", "education", "furniture/equipment", "new car", "other", "radio/tv",
                "repairs", "retraining", "used car"],
    "savings_status": ["100<=X<500", "500<=X<1000", "<100", ">=1000", "no known savings"],
    "employment": ["1<=X<4", "4<=X<7", "<1", ">=7", "unemployed"],
    "personal_status": ["female div/dep/mar", "male div/sep", "male mar/wid", "male single"],
    "other_parties": ["co applicant", "guarantor", "none"],
    "property_magnitude": ["car", "life insurance", "no known property", "real estate"],
    "other_payment_plans": ["bank", "none", "stores"],
    "housing": ["for free", "own", "rent"],
    "job": ["high qualif/self emp/mgmt", "skilled", "unemp/unskilled non res", "unskilled resident"],
    "own_telephone": ["none", "yes"],
    "foreign_worker": ["no", "yes"],
}  # fmt: skip


def credits(rows=300):
    """A table like credit-g, in which a long term and an empty account are risky."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: pd.Categorical(rng.choice(levels, rows)) for name, levels in CREDIT.items()})
    table["duration"] = rng.integers(4, 73, rows)
    table["credit_amount"] = rng.integers(250, 18000, rows)
    table["age"] = rng.integers(19, 76, rows)
    for name, most in (
        ("installment_commitment", 4),
        ("residence_since", 4),
        ("existing_credits", 4),
        ("num_dependents", 2),
    ):
        table[name] = rng.integers(1, most + 1, rows)
    risk = table["duration"] / 20 + 2.0 * (table["checking_status"] == "<0") + rng.normal(size=rows)
    table["class"] = pd.Categorical(np.where(risk > 3.0, "bad", "good"))
    return table


def public_table(name, **_):
    """In place of ``fetch_openml``, which needs a network."""
    return SimpleNamespace(frame=credits() if name == "credit-g" else policies())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own forward mode
@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in WITHOUT_CODE], ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_the_page_says(page, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", public_table)
    assert page_outputs.BLOCK.search(page.read_text())
    if "lambdak.jax" in page.read_text():
        pytest.importorskip("jax", reason="JAX is not installed")
    differing = [(block["text"], printed) for block, printed in page_outputs.outdated(page)]
    assert differing == [] or "fetch_openml" in page.read_text()  # these pages speak of the real table
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")  # matplotlib warns of figures that pages leave open


@pytest.mark.parametrize(
    ("text", "printed", "same"),
    [
        ("0.5 s\n", "1.5 s \n\n", True),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nb\nc\ne", False),
        ("R² 0.51", "R² 0.52", False),
        ("x… s", "xyz s", False),
    ],
)
def test_text_of_a_page_is_what_its_code_prints(text, printed, same):
    assert page_outputs.is_same(text, printed) == same


def test_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    modules = [path.name for path in (ROOT / "src" / "lambdak").glob("*.py") if not path.name.startswith("__")]
    natives = [path.name for path in (ROOT / "src" / "lambdak" / "eigen" / "native").glob("*.*pp")]
    assert [name for name in [*modules, *natives] if name not in text] == []


def test_every_file_in_the_table_of_additions_exists():
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where do I add")[2].partition("\n## ")[0]
    for row in table.splitlines():
        files = [Path(name) for name in re.findall(r"`([\w/]+\.(?:py|pyi|hpp|cpp|md|txt))`", row)]
        beside = {SOURCE / file.parent for file in files}  # a name alone is in the folder of another file of the row
        for file in files:
            places = [ROOT / file, SOURCE.parent / file, *(folder / file for folder in (SOURCE, *beside))]
            assert any(place.is_file() for place in places), f"{file} of: {row}"
    assert table.count(".py`") > 50


def test_relative_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_index_of_benchmarks_names_every_script():
    folder = ROOT / "benchmarks"
    index = (folder / "README.md").read_text()
    scripts = [path.name for path in folder.glob("*.py")]
    assert [name for name in scripts if f"`{name}`" not in index] == []
    assert [name for name in re.findall(r"`(\w+\.py)`", index) if not (folder / name).exists()] == []

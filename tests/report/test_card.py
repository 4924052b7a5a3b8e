"""The model card: front matter that programs read, and the sections that people expect."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from dossier_cases import HOSTILE, X_TEST, Y_TEST, fitted, markdown_cells
from sklearn.metrics import r2_score

yaml = pytest.importorskip("yaml", reason="PyYAML reads the front matter")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    path = tmp_path_factory.mktemp("card") / "README.md"
    with pytest.MonkeyPatch.context() as patch:
        from dossier_cases import tiny_png

        patch.setattr("lambdak.explain.plots.png", tiny_png)
        fitted().model_card(
            path, X_TEST, Y_TEST, license="bsd-3-clause", tags=["motor"], dataset=f"data: {HOSTILE}", owner="Pricing",
            n_resamples=10,
        )  # fmt: skip
    return path.read_text()


def test_front_matter_says_what_hubs_ask_for(card):
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["license"] == "bsd-3-clause"
    assert front["library_name"] == "lambdak"
    assert front["pipeline_tag"] == "tabular-regression"
    assert front["tags"] == ["tabular-regression", "tabular", "lambdak", "motor"]
    (result,) = front["model-index"][0]["results"]
    assert result["task"]["type"] == "tabular-regression"
    metrics = {own["type"]: own["value"] for own in result["metrics"]}
    assert metrics["r_squared"] == pytest.approx(r2_score(Y_TEST, fitted().predict(X_TEST)))


def test_sections_are_those_of_model_cards_without_numbers(card):
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == [
        "Model details", "Uses", "Bias, risks and limitations", "How to get started with the model",
        "Training details", "Evaluation", "Guarantees", "Technical specifications", "Model card authors and contact",
    ]  # fmt: skip
    assert "Pricing" in card
    assert "section 8" not in card.lower()


def test_tables_are_whole(card):
    lines = card.splitlines()
    for above, below in pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert len(markdown_cells(above)) == len(markdown_cells(below))


def test_a_card_without_rows_says_so(tmp_path):
    text = fitted().model_card(tmp_path / "README.md").read_text()
    assert "model-index" not in text
    assert "Not measured" in text


def test_a_card_is_markdown(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .md; got"):
        fitted().model_card(tmp_path / "card.html")

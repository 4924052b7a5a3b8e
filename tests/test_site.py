"""The documentation site: typeset formulas, parameters as the estimators have them, and the check of its links."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.estimators.settings import parameter_texts, with_parameters_of
from lambdak.training.effort import RECIPES

ROOT = Path(__file__).parent.parent
ESTIMATORS = (SpectralRegressor, SpectralQuantileRegressor, SpectralClassifier, SpectralOrdinalClassifier)


def loaded(path):
    """A module outside of the package, by its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


loaded(ROOT / "docs" / "extensions" / "unicode_tex.py")  # which the next one imports
formulas = loaded(ROOT / "docs" / "extensions" / "formulas.py")
check_site = loaded(ROOT / ".ci" / "check_site.py")

# ---- formulas ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("of f(x) = λ_k(A₀ + Σ x_i A_i), as", r"of <f(x) = \lambda_{k}(A_{0} + \sum x_{i} A_{i})>, as"),
        ("at most ‖A_i(b) − A_i(a)‖₂, and", r"at most <\lVert A_{i}(b) - A_{i}(a)\rVert_{2}>, and"),
        ("λ_k and a unit eigenvector v_k of", r"<\lambda_{k}> and a unit eigenvector <v_{k}> of"),
        ("λ_k (1, matrices) of T", r"<\lambda_{k}> (1, matrices) of T"),
        ("(x + √(1 + x²)) / 2, positive", r"<(x + \sqrt{1 + x^{2}}) / 2>, positive"),
        ("dv = (λ - A)⁺ dA v, so", r"<dv = (\lambda - A)^{+} dA v>, so"),
        ("``λ_k`` and :func:`λ_k`, model_ and n_features", "``λ_k`` and :func:`λ_k`, model_ and n_features"),
        ("A row of a table, in O(d) each", "A row of a table, in O(d) each"),
    ],
)
def test_formulas_are_found_in_prose_and_typeset(text, expected):
    assert formulas.typeset(text, "<{}>") == expected


def test_doctests_literals_and_tables_of_docstrings_stay_as_they_are():
    lines = [
        "λ_k of it::",
        "",
        "    code  # λ_k",
        "    more",
        "",
        ">>> λ_k",
        "λ_k",
        "",
        "=====  ====",
        "λ_k    v_k",
        "=====  ====",
    ]
    assert formulas.typeset_lines(lines) == [r":math:`\lambda_{k}` of it::", *lines[1:]]


def test_displayed_formulas_of_docstrings_are_typeset():
    found = formulas.typeset_lines(["It is::", "", "    g(x) = λ_k(A + xB)     rising", "", "So"])
    assert found == ["It is:", "", "    | :math:`g(x) = \\lambda_{k}(A + xB)`\u2003rising", "", "So"]


def test_markup_that_is_none_is_escaped():
    assert formulas.typeset_lines(["mean |effect| of (*contexts, n)"]) == [r"mean \|effect\| of (\*contexts, n)"]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("guide/*.md")), ids=lambda page: page.name)
def test_formulas_of_pages_are_typeset(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", "", prose, flags=re.DOTALL)
    assert re.findall(r"λ_\w|Σ|‖|ᵀ|√|[A-Za-z][₀ᵢₖ]", prose) == []


# ---- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_every_parameter_is_documented_with_its_default(estimator):
    signature, texts = inspect.signature(estimator).parameters, parameter_texts(estimator)
    assert set(texts) == set(signature)
    for name, (kind, text) in texts.items():
        default = kind.partition("default ")[2]
        assert text, name
        assert ast.literal_eval(default) == signature[name].default, name
    assert ">>> " in estimator.__doc__.partition("Examples\n")[2]


def test_quantile_and_power_have_texts_of_their_own():
    texts = parameter_texts(SpectralRegressor)
    assert texts["quantile"][0] == "float in (0, 1), default 0.5"
    assert texts["power"][0] == "float in [1, 2], default 1.5"
    assert texts["quantile"][1] != texts["power"][1]


OUTSIDE = [
    ("dim", 0), ("dim", 129), ("eig_idx", -1), ("n_estimators", 0), ("n_estimators", 65), ("max_iter", 0),
    ("alpha", -0.1), ("validation_fraction", 1.0), ("n_iter_no_change", 0), ("tol", -1.0), ("max_categories", 0),
    ("n_knots", 1), ("effort", "most"), ("shape", "round"), ("max_influence", -1.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUTSIDE, ids=lambda value: str(value))
def test_documented_ranges_are_those_that_fit_checks(name, value):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match=name):
        SpectralRegressor(effort="fast", **{name: value} if name != "effort" else {}).set_params(**{name: value}).fit(
            X, X[:, 0]
        )


@pytest.mark.parametrize(("loss", "name", "value"), [("quantile", "quantile", 1.0), ("tweedie", "power", 2.1)])
def test_ranges_of_the_losses_are_checked(loss, name, value):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match="must be"):
        SpectralRegressor(loss, effort="fast", **{name: value}).fit(X, 1 + X[:, 0])


def test_efforts_are_as_the_page_says():
    page = (ROOT / "docs" / "guide" / "parameters.md").read_text()
    members, dims = (
        re.search(rf"^\| {row} \|(.*)\|$", page, re.MULTILINE)[1] for row in ("members", "size of the matrices")
    )
    recipes = [RECIPES[effort] for effort in ("fast", "balanced", "best")]
    assert [int(cell) for cell in members.split("|")] == [recipe.members for recipe in recipes]
    sizes = [[recipe.dim] + ([recipe.larger.dim] if recipe.larger else []) for recipe in recipes]
    assert [[int(size) for size in re.findall(r"\d+", cell)] for cell in dims.split("|")] == sizes


def test_shared_parameters_follow_the_own_ones_in_a_docstring():
    class Source:
        """One.

        Parameters
        ----------
        a : int, default 1
            First.
        b, c : int
            Second.
        """

    @with_parameters_of(Source, without=["b"])
    class Other:
        """Two.

        Parameters
        ----------
        z : int
            Own.

        Examples
        --------
        None
        """

    assert list(parameter_texts(Other)) == ["z", "a", "c"]
    assert parameter_texts(Other)["a"] == ("int, default 1", "First.")
    assert Other.__doc__.endswith("Examples\n--------\nNone")


# ---- the check of the built site -----------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path):
    """A site of two pages."""
    (tmp_path / "other.html").write_text('<h1 id="top">Other</h1>')
    return tmp_path


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('<a href="other.html#top">fine</a><a href="https://example.org">fine</a><img src="data:,">', None),
        ('<a href="gone.html">x</a>', "index.html: gone.html is not in the site"),
        ('<a href="other.html#gone">x</a>', "index.html: other.html#gone has no such anchor"),
        ('<a href="#gone">x</a>', "index.html: #gone has no such anchor"),
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn.example.org/a.js"),
        ('<link rel="stylesheet" href="https://cdn.example.org/a.css">', "loads https://cdn.example.org/a.css"),
        ('<iframe src="reports/model.html"></iframe>', "index.html: reports/model.html is not in the site"),
    ],
)
def test_broken_links_and_foreign_files_are_found(site, page, complaint):
    (site / "index.html").write_text(page)
    found = list(check_site.broken_links(site))
    assert found == [] if complaint is None else complaint in found[0]


def test_reports_may_be_missing_where_the_gallery_did_not_run(site):
    (site / "index.html").write_text('<iframe src="reports/model.html"></iframe><a href="gone.html">x</a>')
    assert list(check_site.broken_links(site, ("reports",))) == ["index.html: gone.html is not in the site"]


def test_all_methods_of_an_estimator_are_wanted():
    wanted = check_site._methods(lambdak.SpectralRegressor)
    assert {"fit", "partial_fit", "predict", "certify", "relativities", "feature_strengths_"} <= set(wanted)


# ---- the front -----------------------------------------------------------------------------------------------------


def test_readme_is_short_and_says_how_to_begin():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 95
    assert "make demo" in text
    assert "make test" in text
    assert text.count("![") == 1


def test_front_page_has_three_doors():
    assert re.findall(r"\{grid-item-card\} (.*)", (ROOT / "docs" / "index.md").read_text()) == [
        "Tables", "PyTorch", "Under the hood",
    ]  # fmt: skip


def test_the_page_of_parameters_has_all_of_them():
    page = (ROOT / "docs" / "guide" / "parameters.md").read_text()
    shown = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    estimators = (SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier)
    assert shown == {name for estimator in estimators for name in estimator().get_params()}

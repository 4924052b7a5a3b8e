"""The functions of a model in R say what the model says, and refuse what they cannot read with its column."""

from __future__ import annotations

import numpy as np
import pytest
from export_cases import disguised, errors, random_rows
from exported_r import READ, data_of, opened, run
from fitted_models import X, almost_equal_quantiles, changed, fitted, with_columns

from lambdak import SpectralRegressor
from lambdak.eigen.packing import padded_size
from lambdak.export.r import to_r
from lambdak.table.category_column import Category

STATED = 1e-12
SETUP = """
source("model.R")
row <- data.frame(income = 3, age = 40, region = "north", kind = "a", stringsAsFactors = FALSE)
with <- function(...) { new <- list(...); own <- row; own[names(new)] <- new; own }
lists <- function(...) {
  new <- list(...)
  own <- row[c(1, 1), ]
  for (name in names(new)) own[[name]] <- new[[name]]
  own
}
said <- function(call) cat(tryCatch(paste(sprintf("%a", eval(call)), collapse = " "), error = conditionMessage), "\\n")
"""


def agrees(model, table, found, offset=None):
    own = errors(model, table, offset, found, explain=True)
    assert max(own.raw, own.results, own.influence) <= STATED


def said(folder, expressions):
    """What expressions of R give, or the messages of their errors."""
    return run(folder, SETUP + "\n".join(f"said(quote({code}))" for code in expressions)).splitlines()


@pytest.mark.parametrize("kind", ["regressor", "poisson", "binary", "multiclass", "ordinal", "quantiles", "linear"])
def test_it_agrees_with_every_kind_of_model(kind, tmp_path):
    model = fitted(kind).model_
    table = random_rows(np.random.default_rng(0), model, 60)
    offset = np.linspace(-1, 1, 60) if kind in ("poisson", "ordinal") else None
    agrees(model, table, opened(model, tmp_path, explain=True)(table, offset), offset)


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_in_disguise(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = disguised(rng, fitted(["regressor", "multiclass", "ordinal"][seed]).model_)
    table = random_rows(rng, model, 40)
    agrees(model, table, opened(model, tmp_path, explain=True)(table))


def test_quantiles_do_not_cross_where_raw_scores_do_by_rounding(tmp_path):
    found = opened(almost_equal_quantiles(), tmp_path)(X)
    assert (np.diff(found.raw) < 0).any()
    np.testing.assert_array_equal(found.results, np.maximum.accumulate(found.raw, axis=1))


REFUSED = {
    'model$predict(with(income = "3"))': 'column "income" must hold numbers; got "3" in row 1: convert',
    "model$predict(with(income = Inf))": "infinity or a value too large; got Inf in row 1",
    "model$predict(with(region = 3))": 'column "region" must hold texts, as in training; got 3 in row 1',
    "model$predict(row[1:2])": 'data must have the columns of training; missing: "region", "kind"',
    "model$predict(as.list(row))": "data must be a data frame; got list",
    "model$predict(row, c(1, 2))": "offset must be a finite number, or one for each of the 1 rows",
    "model$predict(row, NA_real_)": "offset must be a finite number",
    "model$explain(row, 2)": "output must be from 1 to 1",
    'model$predict(lists(region = list("north", 3)))': "must hold texts, as in training; got 3 in row 2",
    'model$predict(lists(kind = list("a", c("a", "b"))))': "must have one value in a cell; got 2 in row 2",
    "model$predict(lists(age = matrix(1:4, 2L)))": 'column "age" must have one cell for each row; got 2 columns',
    'model$predict(with(age = structure(40, class = "integer64")))': 'column "age" holds integers of 64 bits',
}
SAME = {
    "model$predict(cbind(row, more = 1))": "model$predict(row)",
    "model$predict(row[4:1])": "model$predict(row)",
    "model$predict(with(age = 40L))": "model$predict(row)",
    'model$predict(with(region = factor("north")))': "model$predict(row)",
    "model$predict(with(income = TRUE))": "model$predict(with(income = 1))",
    "model$predict(with(age = NA))": "model$predict(with(age = NaN))",
    "model$predict(with(age = NA_character_))": "model$predict(with(age = NA))",
    'model$predict(with(region = "never"))': 'model$predict(with(region = "seen"))',
    "model$predict(rbind(row, row), c(1, 2))[1]": "model$predict(row, 1)",
    "model$predict(lists(age = list(40, character(0))))": "model$predict(lists(age = c(40, NA)))",
    "model$predict(lists(age = scale(c(40, 50))))": "model$predict(lists(age = as.numeric(scale(c(40, 50)))))",
    "length(model$predict(row[0, ]))": "0L + 0",
}


def test_rows_may_be_given_in_several_ways_and_errors_name_the_column(tmp_path):
    to_r(fitted("regressor"), tmp_path / "model.R", explain=True)
    found = said(tmp_path, [*REFUSED, *SAME, *SAME.values()])
    refused, rest = found[: len(REFUSED)], found[len(REFUSED) :]
    assert all(words in own for words, own in zip(REFUSED.values(), refused, strict=True)), refused
    assert [own.strip() for own in rest[: len(SAME)]] == [own.strip() for own in rest[len(SAME) :]]


@pytest.mark.parametrize("kind", ["multiclass", "ordinal", "binary"])
def test_the_label_is_that_of_the_estimator(kind, tmp_path):
    model = fitted(kind)
    to_r(model, tmp_path / "model.R")
    program = READ + f'cat(as.character(model$classify({data_of(X[:40])})), sep = "\\n")\n'
    wanted = [f"{own:g}" if isinstance(own, float) else str(own) for own in model.predict(X[:40]).tolist()]
    assert run(tmp_path, program).splitlines() == wanted
    assert run(tmp_path, READ + f"cat(length(model$classify(({data_of(X[:2])})[0, ])))") == "0"


def test_names_that_are_none_in_r_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.R"):
        to_r(fitted("single"), tmp_path / "model.txt")
    for name in ("9lives", "if", "a-b", "_x", "NA_real_"):
        with pytest.raises(ValueError, match="name must be a plain name of R"):
            to_r(fitted("single"), tmp_path / "model.R", name=name)
    zero = np.zeros((1, 2, padded_size(5)))
    for level, words in ((2**53 + 1, "which no double equals"), ("a\0b", "a sign that text in R cannot hold")):
        with pytest.raises(ValueError, match=words):
            to_r(with_columns(fitted("single"), [Category("code", 1, levels=(level,))], coef=zero), tmp_path / "m.R")
    assert not list(tmp_path.iterdir())


def test_sourcing_leaves_one_name_behind(tmp_path):
    fitted("single").export(tmp_path / "model.R", name="price")
    assert run(tmp_path, 'source("model.R"); cat(ls())') == "price"


def test_nothing_in_a_name_is_read_as_a_part_of_the_template(tmp_path):
    table = X[["income", "region"]].rename(columns={"income": "@functions@", "region": "@name@"})
    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(table, X["age"].fillna(0))
    to_r(model, tmp_path / "model.R")
    assert run(tmp_path, 'source("model.R"); cat(model$columns)') == "@functions@ @name@"


def test_influences_are_nan_where_the_eigenvalue_is_repeated(tmp_path):
    model = changed(fitted("single"), coef=np.zeros_like(fitted("single").model_.coef))
    assert np.isnan(opened(model, tmp_path, explain=True)(X[:2]).influence).all()

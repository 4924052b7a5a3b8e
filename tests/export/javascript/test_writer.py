"""The ES module of a model says what the model says, and refuses what it cannot read in the same words.

Tests ``engine``.
"""

from __future__ import annotations

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from export_cases import disguised, errors, random_rows
from exported_javascript import opened, run
from fitted_models import KINDS, SPARSE, X, almost_equal_quantiles, changed, fitted, with_columns

from lambdak import SpectralRegressor
from lambdak.eigen.packing import padded_size
from lambdak.export.javascript import to_javascript
from lambdak.export.javascript.engine import ENGINE
from lambdak.table.category_column import Category

STATED = 1e-12
PROTOTYPE = ["__proto__", "constructor", "toString", "hasOwnProperty"]


def agrees(model, table, found, offset=None):
    own = errors(model, table, offset, found, explain=True)
    assert max(own.raw, own.results, own.influence) <= STATED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "wide")])
def test_it_agrees_with_every_kind_of_model(kind, tmp_path):
    model = fitted(kind).model_
    table = random_rows(np.random.default_rng(0), model, 60)
    agrees(model, table, opened(model, tmp_path, explain=True)(table))


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_in_disguise(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = disguised(rng, fitted(["regressor", "linear", "multiclass", "quantiles", "ordinal", "binary"][seed]).model_)
    table = random_rows(rng, model, 40)
    agrees(model, table, opened(model, tmp_path, explain=True)(table))


def test_a_table_that_was_sparse_is_given_as_rows_of_numbers(tmp_path):
    model = fitted("sparse").model_
    table = pd.DataFrame(SPARSE.toarray(), columns=[f"x{i}" for i in range(4)])
    np.testing.assert_allclose(opened(model, tmp_path)(table).raw[:, 0], model.raw(SPARSE), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["poisson", "binary", "ordinal"])
def test_an_offset_is_added(kind, tmp_path):
    model, offset = fitted(kind).model_, np.linspace(-1, 1, 5)
    agrees(model, X[:5], opened(model, tmp_path, explain=True)(X[:5], offset), offset)


def test_influences_are_nan_where_the_eigenvalue_is_repeated(tmp_path):
    model = changed(fitted("single"), coef=np.zeros_like(fitted("single").model_.coef))
    assert np.isnan(opened(model, tmp_path, explain=True)(X[:2]).influence).all()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordinal", "regressor", "quantiles"])
def test_predict_answers_as_the_estimator_does(kind, tmp_path):
    model = fitted(kind)
    to_javascript(model, tmp_path / "model.mjs")
    rows = X[:40].astype(object).where(X[:40].notna(), None).to_dict("records")
    program = (
        f"import {{ predictMany }} from './model.mjs'; console.log(JSON.stringify(predictMany({json.dumps(rows)})))"
    )
    wanted = model.predict(X[:40])
    wanted = wanted[:, 1] if kind == "quantiles" and wanted.ndim > 1 else wanted
    found = json.loads(run(tmp_path, program))
    if kind in ("regressor", "quantiles"):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    else:
        assert found == wanted.tolist()


def test_quantiles_do_not_cross_where_raw_scores_do_by_rounding(tmp_path):
    found = opened(almost_equal_quantiles(), tmp_path)(X)
    assert (np.diff(found.raw) < 0).any()
    np.testing.assert_array_equal(found.results, np.maximum.accumulate(found.raw, axis=1))


# ---- rows --------------------------------------------------------------------------------------------------------


REFUSED = {
    "m.predict({...row, income: '3'})": 'column "income" must hold numbers; got "3": convert it to numbers',
    "m.predictMany([row, {...row, income: Infinity}])": "infinity or a value too large; got Infinity in row 1",
    "m.predict({...row, income: -1e308})": 'RangeError: column "income" contains infinity or a value too large',
    "m.predict({...row, region: 3})": 'column "region" must hold strings, as in training; got 3: convert it first',
    "m.predict({...row, region: {}})": "must hold strings, as in training; got [object Object]",
    "m.predict({income: 1, age: 2})": "yet now missing:\n- region\n- kind",
    "m.predictMany([row, {}])": "should match those that were passed during fit in row 1.",
    "m.predict([1, 2])": "TypeError: a row must have 4 cells; got 2",
    "m.predict(null)": "TypeError: a row must be an object or a Map",
    "m.predict(row, 'x')": 'offset must be a finite number; got "x"',
    "m.predict(row, NaN)": "offset must be a finite number; got NaN",
    "m.predictMany([row], [null])": "offset must be a finite number; got NaN",
    "m.predictMany([row], [1, 2])": "offset must have 1 numbers, one for each row; got 2",
    "m.proba(row)": "proba needs a classifier; the model is a SpectralRegressor",
    "m.quantiles(row)": "quantiles needs a SpectralQuantileRegressor; the model is a SpectralRegressor",
    "m.explain(row, {output: 1})": "output must be in [0, 1); got 1",
}
SAME = [
    "[m.predict({...row, extra: 'x'}), m.predict(row)]",
    "[m.predict(new Map(Object.entries(row))), m.predict(row)]",
    "[m.predict(Object.values(row)), m.predict(row)]",
    "[m.predict({...row, age: 40n}), m.predict(row)]",
    "[m.predict({...row, income: true}), m.predict({...row, income: 1})]",
    "[m.predict({...row, age: NaN}), m.predict({...row, age: null})]",
    "[m.predict({...row, age: undefined}), m.predict({...row, age: null})]",
    "[m.predict({...row, region: 'never'}), m.predict({...row, region: 'seen'})]",
    "[m.predictMany([row], 2)[0], m.predictMany([row], Float64Array.of(2))[0]]",
    "[m.explain(row).prediction, m.predict(row)]",
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What expressions about the module ``m`` and the row ``row`` give, or the errors they throw."""
    folder = tmp_path_factory.mktemp("module")
    to_javascript(fitted("regressor"), folder / "model.mjs", explain=True)
    codes = [*REFUSED, *SAME]
    program = (
        "import * as m from './model.mjs';\n"
        f"const row = {json.dumps({'income': 3.0, 'age': 40, 'region': 'north', 'kind': 'a'})};\n"
        "const said = (get) => { try { return get(); } catch (error) { return `${error.name}: ${error.message}`; } };\n"
        f"console.log(JSON.stringify([{', '.join(f'() => {code}' for code in codes)}].map(said)));"
    )
    return dict(zip(codes, json.loads(run(folder, program)), strict=True))


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_column_and_row(code, said):
    assert REFUSED[code] in said[code]


@pytest.mark.parametrize("code", SAME)
def test_rows_may_be_given_in_several_ways(code, said):
    first, second = said[code]
    assert first == second


def test_words_of_javascript_are_names_like_any_other(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=PROTOTYPE)
    table["toString"] = np.random.default_rng(1).choice(["valueOf", "__proto__", "constructor"], 60)
    model = SpectralRegressor(effort="fast", max_iter=1, dim=2, random_state=0).fit(table, table["constructor"])
    rows = random_rows(np.random.default_rng(2), model.model_, 30)
    agrees(model.model_, rows, opened(model, tmp_path, explain=True)(rows))
    program = (
        "import { predict } from './model.mjs'; try { predict({}); } catch (error) { console.log(error.message); }"
    )
    assert all(f"- {name}" in run(tmp_path, program) for name in PROTOTYPE)


def test_a_bigint_is_a_level_only_if_it_equals_it(tmp_path):
    coef = np.zeros((1, 3, padded_size(5)))
    coef[0, 1, 0] = 1.0
    model = with_columns(fitted("single"), [Category("code", 1, levels=(2**53, 1))], coef=coef)
    to_javascript(model, tmp_path / "model.mjs")
    cells = "[2n ** 53n, 2 ** 53, 2n ** 53n + 1n, 10n ** 400n].map((code) => m.raw({ code })[0])"
    known, same, other, huge = json.loads(
        run(tmp_path, f"import * as m from './model.mjs'; console.log(JSON.stringify({cells}))")
    )
    assert known == same != other == huge


def test_numbers_that_javascript_would_round_are_refused(tmp_path):
    for level in (2**53 + 1, 10**400, np.inf):
        column = Category("code", 1, levels=(level,))
        model = with_columns(fitted("single"), [column], coef=np.zeros((1, 2, padded_size(5))))
        with pytest.raises(
            ValueError, match=f"column 'code' has the level {level}, which JSON cannot hold as a double"
        ):
            to_javascript(model, tmp_path / "model.mjs")
    labels = np.array([1, 2, 3, 2**60 + 1])
    with pytest.raises(ValueError, match="the class 1152921504606846977 equals no double"):
        to_javascript(changed(fitted("multiclass"), classes=labels), tmp_path / "model.mjs")
    assert not list(tmp_path.iterdir())


# ---- files -------------------------------------------------------------------------------------------------------


def test_the_engine_is_that_of_the_report_word_for_word(tmp_path):
    to_javascript(fitted("single"), tmp_path / "model.mjs")
    text = (tmp_path / "model.mjs").read_text("utf-8")
    for name in ENGINE:
        assert (files("lambdak.export.javascript") / f"{name}.js").read_text("utf-8") in text
    assert "document" not in text


def test_a_folder_becomes_a_package_that_can_be_imported_by_name(tmp_path):
    home = tmp_path / "node_modules" / "my-tariff"
    home.parent.mkdir()
    to_javascript(fitted("regressor"), home)
    assert sorted(path.name for path in home.iterdir()) == ["README.md", "index.d.ts", "index.js", "package.json"]
    found = json.loads((home / "package.json").read_text())
    assert (found["name"], found["type"], found["types"]) == ("my-tariff", "module", "./index.d.ts")
    program = "import { columns } from 'my-tariff'; console.log(JSON.stringify(columns))"
    assert json.loads(run(tmp_path, program)) == list(X.columns)
    example = re.search(r"```js\n(.*?)```", (home / "README.md").read_text("utf-8"), re.DOTALL)[1]
    run(tmp_path, example)


def test_files_that_are_in_the_folder_stay(tmp_path):
    (tmp_path / "LICENSE").write_text("mine")
    to_javascript(fitted("single"), tmp_path, name="@team/tariff")
    assert (tmp_path / "LICENSE").read_text() == "mine"
    assert json.loads((tmp_path / "package.json").read_text())["name"] == "@team/tariff"


def test_types_are_beside_a_single_file_where_typescript_looks(tmp_path):
    to_javascript(fitted("single"), tmp_path / "a.mjs")
    to_javascript(fitted("single"), tmp_path / "b.js")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.d.mts", "a.mjs", "b.d.ts", "b.js"]


@pytest.mark.parametrize("name", ["Upper", "two words", 3, "", "a/b", "@x", ".hidden", "x" * 215, "node_modules"])
def test_names_that_npm_refuses_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="name must be one that npm takes, lower case without spaces, such as"):
        to_javascript(fitted("single"), tmp_path, name=name)


def test_paths_that_are_neither_module_nor_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.mjs or \.js, or be a folder; got '.*model\.ts'"):
        to_javascript(fitted("single"), tmp_path / "model.ts")
    with pytest.raises(ValueError, match=r"or be a folder; got '': '\.' is the folder you are in"):
        to_javascript(fitted("single"), "")
    with pytest.raises(FileNotFoundError, match=r"the folder of '.*package' does not exist: create '.*nowhere' first"):
        to_javascript(fitted("single"), tmp_path / "nowhere" / "package")
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"path must be a folder, or end in \.mjs or \.js; got the file '.*notes'"
    ):
        to_javascript(fitted("single"), tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"
    with pytest.raises(ValueError, match="name needs a folder"):
        to_javascript(fitted("single"), tmp_path / "model.mjs", name="x")


# ---- a browser ---------------------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def guess_type(self, path):
        return "text/html" if path.endswith(".html") else "text/javascript"

    def log_message(self, *_):
        pass


def test_it_runs_in_a_browser(browser, tmp_path):
    model = fitted("multiclass")
    to_javascript(model, tmp_path / "model.mjs")
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    worker = Thread(target=server.serve_forever)
    worker.start()
    try:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        row = {"income": 3.0, "age": None, "region": "north", "kind": "a"}
        found = page.evaluate("async (row) => (await import('./model.mjs')).proba(row)", row)
        page.close()
    finally:
        server.shutdown()
        worker.join()
        server.server_close()
    np.testing.assert_allclose(found, model.predict_proba(pd.DataFrame([row]))[0], rtol=1e-12)

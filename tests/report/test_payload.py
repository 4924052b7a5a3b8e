"""What is written to the HTML file: data, metrics and matrices, and no markup that came from a table.

Tests ``payload``; what the page computes from it is in the tests of the page.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from report_cases import CERTIFICATE, IMAGE, SCRIPT, X, Y, fitted
from scipy import sparse

from lambdak.export.javascript.engine import to_json
from lambdak.report import write_report
from lambdak.report.payload import _level_text


def written(tmp_path, model, *data, **more):
    write_report(model.model_, tmp_path / "report.html", *data, **more)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def payload_of(text):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1], parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))


def test_markup_in_names_never_reaches_the_html(tmp_path):
    text = written(tmp_path, fitted("regressor"), X, Y, certificate=CERTIFICATE)
    assert SCRIPT not in text
    assert IMAGE not in text
    assert "<b>come" not in text
    assert payload_of(text)["columns"][1]["name"] == SCRIPT


def test_page_is_small(tmp_path):
    text = written(tmp_path, fitted("multiclass"), X)
    found = payload_of(text)
    data = sum(len(block["base64"]) for block in found["model"]["blocks"]) + len(json.dumps(found["data"]))
    assert len(text.encode()) < 2e5 + data


def test_page_names_no_inline_handler_and_allows_only_its_own_scripts(tmp_path):
    text = written(tmp_path, fitted("regressor"))
    own = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<[^>]*\son\w+\s*=", own)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    assert "default-src &#x27;none&#x27;" in policy
    assert policy.count("sha256-") == 1
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "unsafe-eval" not in policy


def test_shared_matrices_are_embedded_once_and_in_the_dtype_of_the_model(tmp_path):
    model = fitted("ordinal")
    found = payload_of(written(tmp_path, model))["model"]
    assert (len(found["blocks"]), len(found["families"])) == (1, len(model.classes_) - 1)
    assert found["blocks"][0]["dtype"] == model.model_.stored_dtype.name
    assert len(payload_of(written(tmp_path, fitted("multiclass")))["model"]["blocks"]) == 4


def test_targets_that_do_not_belong_to_the_rows_are_refused(tmp_path):
    model = fitted("regressor")
    with pytest.raises(ValueError, match="y must have 240 entries"):
        written(tmp_path, model, X, Y[:-1])
    with pytest.raises(ValueError, match="X must be given with y"):
        written(tmp_path, model, None, Y)
    assert not list(tmp_path.iterdir())


LABELS = np.where(Y > 4, "good", "<bad>")


@pytest.mark.parametrize("kind", ["object", "category", "string", "polars", "polars categories"])
def test_labels_may_come_from_any_library(tmp_path, kind):
    if kind.startswith("polars"):
        pl = pytest.importorskip("polars")
        y = pl.Series("out", LABELS.tolist(), dtype=pl.Categorical if "categories" in kind else pl.String)
    else:
        y = LABELS.astype(object) if kind == "object" else pd.Series(LABELS, dtype=kind)
    model = fitted("binary")
    found, usual = (payload_of(written(tmp_path, model, X, target)) for target in (y, LABELS))
    assert [example["target"] for example in found["data"]["examples"]] == [
        LABELS[example["row"]] for example in found["data"]["examples"]
    ]
    assert found["performance"] == usual["performance"]


@pytest.mark.filterwarnings("error")
def test_a_table_without_rows_is_refused_with_the_way_out(tmp_path):
    for data in ((X[:0],), (X[:0], Y[:0]), (sparse.csr_array((0, 4)), Y[:0])):
        with pytest.raises(ValueError, match="X must have at least one row; got none: omit it"):
            written(tmp_path, fitted("regressor"), *data)
    assert not list(tmp_path.iterdir())


def test_the_method_adds_the_certificate_and_returns_the_path(tmp_path):
    model = fitted("regressor")
    path = model.report(str(tmp_path / "report.html"), X, Y)
    assert path == tmp_path / "report.html"
    text = path.read_text(encoding="utf-8")
    assert "The prediction never falls as whole rises." in text


def test_columns_may_come_in_any_order(tmp_path):
    model = fitted("regressor")
    straight, turned = (payload_of(written(tmp_path, model, table))["data"] for table in (X, X[X.columns[::-1]]))
    assert straight == turned


def test_a_table_that_does_not_fit_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="yet now missing"):
        written(tmp_path, fitted("regressor"), X.drop(columns="kind"))
    assert not list(tmp_path.iterdir())


def test_an_empty_text_is_a_level_that_a_reader_can_choose():
    assert [_level_text(level) for level in ("", " ", "red", None, 2.5)] == [
        "(empty text)",
        "' '",
        "red",
        "(missing)",
        "2.5",
    ]


def test_half_surrogates_are_escaped_so_that_a_file_can_hold_them():
    text = to_json({"\ud800": "é"})
    assert text.encode("utf-8").decode("utf-8") == '{"\\ud800": "é"}'
    assert json.loads(text) == {"\ud800": "é"}

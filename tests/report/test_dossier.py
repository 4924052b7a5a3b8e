"""What a dossier says: every column, numbers that others compute as well, and what was not given.

Tests ``dossier``, ``subject``, ``pictures``, ``amounts``, the finding ``fit``, and the sections ``front``, ``data``,
``method``, ``performance``, ``guarantees``, ``behaviour``, ``limits``, ``monitoring``, ``reproduction``, ``words``.
"""

from __future__ import annotations

import re
import sys
import warnings

import docx
import numpy as np
import pandas as pd
import pytest
from dossier_cases import HOSTILE, SMALL, X_TEST, Y_TEST, Reader, X, Y, docx_text, fitted, table, tiny_png
from fitted_models import CUTS, KINDS, SPARSE, rows_of
from fitted_models import Y as NUMBERS
from fitted_models import fitted as fitted_kind
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

import lambdak
from lambdak import SpectralRegressor
from lambdak.explain import plots
from lambdak.report.amounts import number, share
from lambdak.report.dossier import Refittable, dossier_findings
from lambdak.report.findings import Options, report_findings
from lambdak.report.findings.fit import SEEN
from lambdak.report.pictures import curve_png
from lambdak.report.sections import performance
from lambdak.shapes import Dominates
from lambdak.table.content_hash import content_hash, target_hash
from lambdak.table.rows import read_rows
from lambdak.table.visible import visible

FEW = {"n_resamples": 10}
SECTIONS = [
    "Purpose", "Data", "Method", "Parameters", "Performance", "Calibration", "Stability over seeds",
    "Guarantees and their proofs", "What the model does", "Limits", "Monitoring plan", "Reproduction",
    "Versions and signature", "Appendix",
]  # fmt: skip


def findings(model, *rows, **options):
    return dossier_findings(Refittable(model._saved(), model._refitted), *rows, **FEW | options)


def page(model, path, *rows, **options):
    return Reader(model.dossier(path, *rows, **FEW | options).read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The three formats of one dossier."""
    folder = tmp_path_factory.mktemp("dossier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lambdak.explain.plots.png", tiny_png)
        for name in ("d.html", "d.md", "d.docx"):
            fitted().dossier(folder / name, X_TEST, Y_TEST, owner="Pricing", purpose="one\ntwo", **FEW)
    return folder


def test_sections_come_in_the_order_of_validators_in_every_format(whole):
    html = Reader((whole / "d.html").read_text()).text
    markdown = (whole / "d.md").read_text()
    headings = [own.text for own in docx.Document(whole / "d.docx").paragraphs if own.style.name == "Heading 1"]
    assert headings == [f"{i}. {title}" for i, title in enumerate(SECTIONS, 1)]
    assert re.findall(r"^## \d+\. (.*)$", markdown, re.MULTILINE) == SECTIONS
    places = [html.index(f"{i}. {title}") for i, title in enumerate(SECTIONS, 1)]
    assert places == sorted(places)


def test_every_column_and_the_target_are_named_in_every_format(whole):
    texts = [Reader((whole / "d.html").read_text()).text, docx_text(docx.Document(whole / "d.docx"))]
    for text in texts:
        assert all(visible(name) in text for name in X.columns)
        assert "cost" in text
    assert "DROP TABLE" in (whole / "d.md").read_text()


def test_metrics_are_those_of_scikit_learn(whole):
    cells, predicted = Reader((whole / "d.html").read_text()).cells, fitted().predict(X_TEST)
    cells = cells[cells.index("share of the target's variance that the predictions explain; 1 is perfect") - 3 :]
    for name, metric in (("R²", r2_score), ("RMSE", root_mean_squared_error), ("MAE", mean_absolute_error)):
        assert cells[cells.index(name) + 1] == number(metric(Y_TEST, predicted))


def test_hashes_are_those_of_the_tables(whole):
    text = Reader((whole / "d.html").read_text()).text
    assert content_hash(X_TEST) in text
    assert target_hash(Y_TEST) in text


def test_bounds_of_columns_are_those_of_the_certificate(whole):
    text = Reader((whole / "d.html").read_text()).text
    assert "2 of 2 requested guarantees are proven." in text
    for claim in fitted().certify(exact=True).claims:
        if claim.requested:
            assert claim.statement[1:] in text


def test_what_the_owner_did_not_say_is_marked_and_never_invented(whole):
    text = Reader((whole / "d.html").read_text()).text
    assert "Pricing" in text
    assert text.count("To be completed by the owner") >= 15
    assert "The owner has yet to say: name, version, intended_use" in text


def test_without_rows_it_says_what_was_not_given(tmp_path):
    text = page(fitted(), tmp_path / "d.html").text
    assert "Not measured: no rows with targets were given" in text
    assert "Not run: it fits the model again" in text
    assert "No data were given: X and y." in text
    assert all(visible(name) in text for name in X.columns)


def test_rows_without_targets_are_described_and_not_measured(tmp_path):
    text = page(fitted(), tmp_path / "d.html", X_TEST).text
    assert content_hash(X_TEST) in text
    assert "Not measured" in text
    assert "Rows described" in text
    assert "Measured on" not in text


@pytest.mark.slow
def test_a_loaded_model_has_the_same_dossier_and_the_same_one_again(tmp_path, whole):
    fitted().save(tmp_path / "model.safetensors")
    loaded = lambdak.load(tmp_path / "model.safetensors")
    for name in ("d.html", "d.docx", "d.md"):
        loaded.dossier(tmp_path / name, X_TEST, Y_TEST, owner="Pricing", purpose="one\ntwo", **FEW)
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_training_rows_are_named_as_such_by_what_the_model_keeps_of_them():
    with pytest.warns(UserWarning, match="look like the training rows") as caught:
        found = findings(fitted(), X, Y)
    assert found.assessment.likeness.seen
    assert "In 2 of 2 columns of numbers" in str(caught[0].message)


def test_other_rows_are_not(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert findings(fitted(), X_TEST, Y_TEST).assessment.likeness.seen is False


@pytest.mark.parametrize(
    ("rows", "trained", "source"),
    [
        ((X, Y), None, "seen"),
        ((X_TEST, Y_TEST), None, "unclear"),
        ((X_TEST, Y_TEST), (X, Y), "test"),
        ((X[:50], Y[:50]), (X, Y), "seen"),
    ],
)
@pytest.mark.filterwarnings("ignore:These rows look like the training rows")
def test_report_and_dossier_agree_on_whether_the_fit_saw_the_rows(rows, trained, source):
    beside = {} if trained is None else {"X_train": trained[0], "y_train": trained[1]}
    dossier = findings(fitted(), *rows, **beside, seeds=0, search=0)
    given = [read_rows(*table) for table in (trained, rows) if table is not None]
    first, test = given if trained else (given[0], None)
    report = report_findings(fitted().model_, None, first, test, None, None, None, Options(resamples=0))
    assert dossier.assessment.source == report.assessment.source == source
    assert dossier.assessment.caveat == report.assessment.caveat
    assert (dossier.assessment.caveat[:40] in performance.provenance(dossier.assessment).text) or source == "test"


def test_rows_are_compared_with_training_rows_one_by_one():
    mixed, target = X_TEST.copy(), Y_TEST.copy()
    mixed.iloc[:7], target.iloc[:7] = X.iloc[:7].to_numpy(), Y.iloc[:7].to_numpy()
    found = findings(fitted(), mixed, target, X_train=X, y_train=Y, seeds=0)
    assert found.assessment.likeness.words.startswith("7 of the 150 rows equal a training row in every column")
    assert not found.assessment.likeness.seen
    with pytest.warns(UserWarning, match="200 of the 200 rows equal a training row"):
        findings(fitted(), X, Y, X_train=X, y_train=Y, seeds=0)


def test_columns_that_the_model_does_not_use_change_nothing():
    more = X_TEST[X_TEST.columns[::-1]].assign(day=np.datetime64("2026-01-01"), id=range(len(X_TEST)))
    assert findings(fitted(), more, Y_TEST, search=0).data.sha256 == content_hash(X_TEST)
    with pytest.warns(UserWarning, match="150 of the 150 rows equal a training row"):
        findings(fitted(), more, Y_TEST, X_train=X_TEST, y_train=Y_TEST, seeds=0, search=0)


def test_a_column_may_be_called_like_a_picture(monkeypatch):
    names = {"income": "lift", HOSTILE: "calibration", "town": "lorenz"}
    model = SpectralRegressor(**SMALL).fit(X.rename(columns=names), Y)
    own = findings(model, X_TEST.rename(columns=names), Y_TEST, search=0).assessment.outputs[0].performance
    titles = []
    monkeypatch.setattr(plots, "png", lambda ax: titles.append(ax.get_title()) or tiny_png(ax))
    for what in ("lift", "calibration", "lorenz"):
        curve_png(own, what)
    assert [title.split()[0].strip(":") for title in titles] == ["Lift", "Calibration", "Lorenz"]


@pytest.mark.parametrize(("name", "library"), [("d.html", "lambdak.explain.plots"), ("d.docx", "docx")])
def test_a_missing_library_is_named_before_anything_is_computed(tmp_path, monkeypatch, name, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delattr("lambdak.explain.plots", raising=False)
    monkeypatch.setattr("lambdak.report.dossier.compute_all", None)
    with pytest.raises(ImportError, match=r"pip install 'lambdak\[dossier\]'"):
        fitted().dossier(tmp_path / name)


def test_caps_on_columns_together_and_interactions_are_among_the_guarantees(tmp_path):
    model = SpectralRegressor(interaction_cst=[["income", "town"], [HOSTILE]], **SMALL).fit(X, Y)
    kinds = {claim.kind for claim in model.certify().claims if claim.requested}
    text = page(model, tmp_path / "d.html", X_TEST, Y_TEST, search=0).text
    assert f"{len(kinds)} of {len(kinds)} requested guarantee" in text
    capped = SpectralRegressor(max_influence={("income", "town"): 2.0}, **SMALL).fit(X, Y)
    assert "The matrices of any two of its cells differ by at most" in page(capped, tmp_path / "d.html", search=0).text


def test_only_columns_that_continue_straight_are_said_to(tmp_path):
    columns = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["own", "loan", "age"])
    target = columns.sum(axis=1)
    model = SpectralRegressor(constraints=[Dominates("own", "loan")], **SMALL).fit(columns, target)
    text = page(model, tmp_path / "d.html").text
    assert text.count("'own', 'loan': A column of numbers continues straight beyond its training range") == 2
    assert text.count("All other columns of numbers: A number beyond the training range counts as the nearest end") == 2
    flat = page(SpectralRegressor(**SMALL).fit(columns, target), tmp_path / "flat.html").text
    assert "continues straight" not in flat


def test_a_generator_of_random_numbers_is_not_shown_by_its_place_in_memory(tmp_path):
    model = SpectralRegressor(**SMALL | {"random_state": np.random.RandomState(0)}).fit(X, Y)
    text = page(model, tmp_path / "d.html").text
    assert "0x" not in text
    assert "whose state was not kept" in text
    assert "cannot be refitted bit for bit" in text


def test_the_warning_is_in_the_document(tmp_path):
    with pytest.warns(UserWarning, match="look like the training rows"):
        reader = page(fitted(), tmp_path / "d.html", X, Y)
    assert reader.text.count(SEEN) >= 3  # on the first page, among the open points, and beside the metrics


@pytest.mark.slow
def test_stability_is_the_spread_of_fits_with_other_seeds():
    steps = []
    found = findings(fitted(), X_TEST, Y_TEST, X_train=X, y_train=Y, seeds=2, progress=steps.append)
    settings = SMALL | {"monotonic_cst": {"income": 1}, "max_influence": {"town": 2.0}}
    fits = [SpectralRegressor(**settings | {"random_state": seed}).fit(X, Y).predict(X_TEST) for seed in (1, 2)]
    assert np.array_equal(found.stability.spread, np.std(fits, axis=0, ddof=1))
    assert [own[0].value for own in found.stability.metrics] == [pytest.approx(r2_score(Y_TEST, fit)) for fit in fits]
    assert "stability: fit 2 of 2" in steps


@pytest.mark.slow
def test_a_model_of_rates_is_fitted_again_with_its_exposures():
    rng = np.random.default_rng(0)
    years, seen = rng.uniform(0.2, 1, len(X)), rng.uniform(0.2, 1, len(X_TEST))
    model = SpectralRegressor("poisson", **SMALL).fit(X, Y.abs() * years, exposure=years)
    rows = {"exposure": seen, "X_train": X, "y_train": Y.abs() * years, "seeds": 2}
    found = findings(model, X_TEST, Y_TEST.abs() * seen, exposure_train=years, **rows)
    fits = [
        SpectralRegressor("poisson", **SMALL | {"random_state": seed}).fit(X, Y.abs() * years, exposure=years)
        for seed in (1, 2)
    ]
    scores = [np.log(fit.predict(X_TEST)) for fit in fits]
    assert found.stability.spread == pytest.approx(np.std(scores, axis=0, ddof=1), abs=1e-12)
    with pytest.raises(ValueError, match="exposure_train must be given where exposure is"):
        findings(model, X_TEST, Y_TEST.abs() * seen, **rows)
    with pytest.raises(ValueError, match="exposure_train and offset_train must not both be given"):
        findings(model, X_TEST, Y_TEST.abs(), exposure_train=years, offset_train=years, **rows)


def test_exposure_makes_rates_of_totals():
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.2, 1, len(X_TEST))
    found = findings(fitted(), X_TEST, Y_TEST * exposure, exposure=exposure)
    metrics = {metric.name: metric.value for metric in found.assessment.metrics}
    predicted = fitted().predict(X_TEST)
    assert metrics["R²"] == pytest.approx(r2_score(Y_TEST, predicted, sample_weight=exposure))
    assert metrics["actual / expected"] == pytest.approx((Y_TEST * exposure).sum() / (predicted * exposure).sum())


def test_intervals_hold_the_value_and_are_the_same_for_the_same_seed():
    one, two, other = (findings(fitted(), X_TEST, Y_TEST, random_state=seed).assessment.metrics for seed in (0, 0, 1))
    assert one == two != other
    assert all(metric.low <= metric.value <= metric.high for metric in one if metric.name in ("R²", "RMSE", "MAE"))


def test_the_weakest_segment_is_the_one_that_was_spoilt():
    rows, target = table(600, seed=3)
    target = target + 2.0 * (rows["town"] == "Uri")
    worst = findings(fitted(), rows, target).segments[0]
    assert (worst.column, worst.cells) == ("town", "Uri")
    assert worst.observed == pytest.approx(target[rows["town"] == "Uri"].mean())
    assert worst.distance > 1


def test_cells_outside_of_training_are_counted(tmp_path):
    rows = X_TEST.copy()
    rows.loc[:2, "income"] = 1e6
    rows.loc[:4, "town"] = "new"
    reader = page(fitted(), tmp_path / "d.html", rows, Y_TEST)
    lines = list(zip(*(reader.cells[i:] for i in range(4)), strict=False))
    assert ("town", "0", "0", "5") in lines
    below = int((X_TEST["income"][3:] < X["income"].min()).sum())
    above = int((X_TEST["income"][3:] > X["income"].max()).sum())
    assert ("income", str(below), str(3 + above), "0") in lines


def test_the_reproduction_code_runs_and_prints_the_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fitted().save("model.safetensors")
    reader = page(fitted(), tmp_path / "d.html", X_TEST, Y_TEST, model_file="model.safetensors")
    code = reader.text[reader.text.index("import lambdak\n") : reader.text.index("The same from a command line")]
    exec(code.replace("n_resamples=200", "n_resamples=10"), {"X": X_TEST, "y": Y_TEST})
    assert f"RMSE {root_mean_squared_error(Y_TEST, fitted().predict(X_TEST)):.4g}" in capsys.readouterr().out
    assert (tmp_path / "again.html").exists()


def test_a_file_of_another_model_is_refused(tmp_path):
    SpectralRegressor(**SMALL).fit(X, Y).save(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other.safetensors' must hold this model; it holds another one"):
        fitted().dossier(tmp_path / "d.html", model_file=tmp_path / "other.safetensors")


def test_a_signature_is_verified_or_said_not_to_be(tmp_path):
    keys = lambdak.store.create_keys
    private = tmp_path / "key.pem"
    keys(private)
    path = tmp_path / "model.safetensors"
    fitted().save(path)
    assert "is not signed" in page(fitted(), tmp_path / "d.html", model_file=path).text
    lambdak.store.sign_file(path, private, "Ada")
    assert "It was not verified" in page(fitted(), tmp_path / "d.html", model_file=path).text
    public = lambdak.store.public_path(private)
    text = page(fitted(), tmp_path / "d.html", model_file=path, public_key=public).text
    assert "Ada" in text
    assert "was verified with the public key" in text


@pytest.mark.slow
def test_eighty_columns_stay_readable(tmp_path):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(120, 80))
    model = SpectralRegressor(**SMALL | {"dim": 2, "n_estimators": 1}).fit(wide, wide[:, 0])
    reader = page(model, tmp_path / "d.html", wide[:60] + 1, wide[:60, 0])
    assert sum(tag == "img" for tag, _ in reader.tags) <= 20
    assert "the first 12 of 80" in reader.text
    appendix = reader.text[reader.text.rindex("14. Appendix") :]
    assert all(f"x{i}\n" in appendix.replace("number", "\n") for i in range(80))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_a_dossier(tmp_path, kind):
    targets = {
        "poisson": np.maximum(NUMBERS, 0), "binary": np.where(NUMBERS > 1.5, "yes", "no"), "multiclass": CUTS,
        "ordinal": CUTS, "sparse": SPARSE.sum(axis=1), "wide": np.resize(NUMBERS, 700),
    }  # fmt: skip
    model, y = fitted_kind(kind), targets.get(kind, NUMBERS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "These rows look like the training rows")
        text = page(model, tmp_path / "d.html", rows_of(kind), y).text
    for name in model.model_.encoder.feature_names:
        assert name in text
    assert "not defined to not defined" not in text


@pytest.mark.parametrize("rows", [1, 2, 31])
def test_few_rows_are_enough(tmp_path, rows):
    text = page(fitted(), tmp_path / "d.html", X_TEST[:rows], Y_TEST[:rows]).text
    assert "5. Performance" in text


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_targets_of_any_size_are_measured(tmp_path, scale):
    model = SpectralRegressor(**SMALL).fit(X, Y * scale)
    assert "95 % interval" in page(model, tmp_path / "d.html", X_TEST, Y_TEST * scale).text


def test_only_known_formats_are_written_and_nothing_else_is_left(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .html, .md, .docx, which is the format; got .*d.pdf"):
        fitted().dossier(tmp_path / "d.pdf")
    with pytest.raises(ValueError, match="y must have 150 entries, one per row of X; got 3"):
        fitted().dossier(tmp_path / "d.html", X_TEST, Y_TEST[:3])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"purpos": "x"}, "unexpected keyword argument 'purpos'. Did you mean 'purpose'?"),
        ({"purpose": 3}, "purpose must be text; got 3"),
        ({"seeds": 3}, "seeds needs rows to fit and to compare"),
        ({"X_train": X, "exposure_train": Y}, "exposure_train needs a loss with a log link"),
        ({"y_train": [1]}, "X_train must be given with y_train; got y_train alone"),
        ({"public_key": "k"}, "model_file must be given with public_key"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, options, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        fitted().dossier(tmp_path / "d.html", **options)


def test_a_name_is_never_obeyed(whole):
    reader = Reader((whole / "d.html").read_text())
    assert visible(HOSTILE) in reader.text
    assert "script" not in {tag for tag, _ in reader.tags}
    assert not [name for _, own in reader.tags for name in own if name.startswith("on")]


@pytest.mark.slow
@pytest.mark.usefixtures("real_pictures")
def test_pictures_are_drawn(tmp_path):
    fitted().dossier(tmp_path / "d.md", X_TEST, Y_TEST, **FEW)
    pictures = list((tmp_path / "d_pictures").iterdir())
    assert {path.name.rpartition("-")[0] for path in pictures} == {
        "calibration", "effect-1", "effect-2", "effect-3", "lift", "lorenz", "strengths",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 4000 for path in pictures)


@pytest.mark.parametrize("kind", ["quantiles", "one quantile"])
def test_coverage_is_shown_of_several_quantiles(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("lambdak.explain.plots.png", tiny_png)
    model, rows = fitted_kind(kind), rows_of(kind)
    several = kind == "quantiles"
    with pytest.warns(UserWarning, match="look like the training rows"):
        text = model.dossier(tmp_path / "d.md", rows, NUMBERS, **FEW).read_text()
    assert ("Coverage of intervals" in text) is several
    assert ("Levels of targets in their own distributions" in text) is several
    assert ("CRPS" in text) is several
    found = model.coverage(rows, NUMBERS)
    assert share(found.observed[2]) in text or not several
    report = model.report(tmp_path / "r.html", rows, NUMBERS).read_text()
    assert ("How often intervals hold" in report) is several

"""OutputRange: every way out of a model ends at the same numbers, raw scores stay, and what follows from both."""

from __future__ import annotations

import pickle
import warnings
from functools import cache

import exported_c
import exported_java
import exported_javascript
import exported_onnx
import exported_r
import exported_sql
import numpy as np
import pandas as pd
import pytest
from checker_cases import exit_code, verdicts
from hostile_cases import refuse, sealed
from shape_cases import TASKS, shaped, shaped_table

from lambdak import SpectralClassifier, SpectralRegressor, load
from lambdak import shapes as s
from lambdak.certify import certify
from lambdak.certify.attack import run
from lambdak.certify.orders import Within
from lambdak.certify.search import Search
from lambdak.losses.links import IDENTITY, LOG, LOGIT
from lambdak.model.metrics import raw_metrics
from lambdak.optimize import counterfactual, inverse, margin, minimize, predicted
from lambdak.optimize.minimum.bounded import above, below
from lambdak.optimize.minimum.problem import raw_threshold
from lambdak.store._header import describe
from lambdak.store._values import encode

RANGES = {"mean": (2.1, 3.9), "counts": (2.7, 5.3), "quantiles": (2.3, 3.7), "classes": (0.21, 0.73)}
TARGETS = {
    "c": exported_c.opened, "java": exported_java.opened, "r": exported_r.opened,
    "js": exported_javascript.opened, "onnx": exported_onnx.opened,
    "duckdb": exported_sql.opened_duckdb, "sqlite": exported_sql.opened_sqlite,
}  # fmt: skip
TIGHT = {"effort": "fast", "max_iter": 30}
OUTSIDE = "ignore:.* targets are outside:UserWarning"


@cache
def free_and_limited(task):
    """Two models of the same training, one of them with a range, and rows beyond it on both sides."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* targets are outside")
        (free, X), (limited, _) = (
            shaped(own, task, max_iter=30) for own in ([s.Rising("income")], [s.Rising("income"), range_of(task)])
        )
    far = X.assign(income=np.linspace(-3, 60, len(X)))
    return free, limited, pd.concat([X, far], ignore_index=True)


def range_of(task):
    return s.OutputRange(*RANGES[task])


def final(model, X):
    """What the model says, (rows, …), and of two classes the probability of the second."""
    seen = model.model_.predict(X)
    return seen[:, 1] if model.model_.classes is not None else seen


@pytest.mark.parametrize("task", RANGES)
def test_predictions_are_those_without_a_range_or_its_end_and_raw_scores_are_the_same_bits(task):
    free, limited, X = free_and_limited(task)
    np.testing.assert_array_equal(limited.model_.raw(X), free.model_.raw(X))
    wanted = np.clip(final(free, X), *RANGES[task])
    np.testing.assert_array_equal(final(limited, X), wanted)
    assert {*RANGES[task]} <= {*wanted.ravel()}, "the test needs rows at both ends"
    if task == "classes":
        both = limited.predict_proba(X)
        np.testing.assert_allclose(both.sum(axis=1), 1.0, rtol=1e-15)
        np.testing.assert_array_equal(limited.predict(X), limited.classes_[both.argmax(axis=1)])
        np.testing.assert_array_equal(limited.predict(X), free.predict(X))  # 1/2 is inside
    if task == "quantiles":
        assert (np.diff(wanted, axis=1) >= 0).all()


@pytest.mark.parametrize("task", RANGES)
def test_single_rows_files_and_pickles_say_the_same(task, tmp_path):
    _, limited, X = free_and_limited(task)
    limited.save(tmp_path / "model")
    others = [load(tmp_path / "model"), pickle.loads(pickle.dumps(limited))]
    for other in others:
        np.testing.assert_array_equal(final(other, X), final(limited, X))
        assert other.certify().holds
    predictor, rows = limited.predictor(), X.to_dict("records")[::17]
    assert predictor.many(rows) == limited.predict(X.iloc[::17]).tolist()
    assert [predictor(row) for row in rows] == predictor.many(rows)
    if task == "classes":
        both = [list(predictor.predict_proba(row).values()) for row in rows]
        np.testing.assert_array_equal(both, limited.predict_proba(X.iloc[::17]))
    if task == "quantiles":
        both = [predictor.predict_quantiles(row) for row in rows]
        np.testing.assert_array_equal(both, limited.predict_quantiles(X.iloc[::17]))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("task", RANGES)
def test_every_export_ends_at_the_same_numbers(task, name, tmp_path):
    _, limited, X = free_and_limited(task)
    model = limited.model_
    rows = X.assign(grade=X["grade"].astype(object), size=X["size"].astype(object)).iloc[::5].reset_index(drop=True)
    found = TARGETS[name](model, tmp_path, False)(rows.copy(), None).results
    wanted = np.asarray(model.predict(rows)).reshape(len(rows), -1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    low, high = RANGES[task]
    ends = [(1 - high, 1 - low), (low, high)] if task == "classes" else [(low, high)] * found.shape[1]
    for own, (least, most) in zip(found.T, ends, strict=True):
        assert least <= own.min() <= own.max() <= most
        assert least in own
        assert most in own


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_file_of_onnx_in_single_precision_stays_inside(dtype, tmp_path):
    _, limited, X = free_and_limited("mean")
    limited.export(tmp_path / "model.onnx", **({"dtype": "float32"} if dtype is np.float32 else {}))
    running = exported_onnx.session(tmp_path / "model.onnx")
    rows = X.assign(grade=X["grade"].astype(object), size=X["size"].astype(object))
    names = [column.name for column in limited.model_.encoder.columns]
    found = running.run(["prediction"], exported_onnx.feed(running, rows, names))[0]
    assert found.dtype == dtype
    low, high = RANGES["mean"]
    assert low <= float(found.min()) <= float(found.max()) <= high


@pytest.mark.parametrize("task", RANGES)
def test_explanations_and_what_if_intervals_end_there_too(task):
    _, limited, X = free_and_limited(task)
    rows, (low, high) = X.iloc[::40], RANGES[task]
    local = limited.explain_local(rows)
    seen = np.asarray(local.prediction, float)
    assert low <= min(seen.min(), 1 - seen.max() if task == "classes" else seen.min())
    what_if = local.what_if("income", (-3.0, 60.0))
    ends = (min(low, 1 - high), max(high, 1 - low)) if task == "classes" else (low, high)
    assert ends[0] <= what_if.lower.min() <= what_if.upper.max() <= ends[1]
    assert (what_if.lower <= seen).all()
    assert (seen <= what_if.upper).all()


@pytest.mark.parametrize("task", ["mean", "counts", "classes"])
def test_the_optimiser_knows_where_predictions_end(task):
    _, limited, X = free_and_limited(task)
    row, (low, high) = X.iloc[[3]], RANGES[task]
    own = {"output": limited.classes_[1]} if task == "classes" else {}
    for maximize, end in ((False, low), (True, high)):
        best = minimize(limited, ["income", "dose"], fixed=row.iloc[0].to_dict(), maximize=maximize, **own)
        assert final(limited, pd.DataFrame([dict(best.row)]))[0] == best.value
        assert best.value <= best.bound <= end if maximize else end <= best.bound <= best.value
    doubled = minimize(2 * predicted(limited, **own) - 1, ["income"], fixed=row.iloc[0].to_dict(), maximize=True)
    assert doubled.value <= doubled.bound <= 2 * high - 1 + 1e-9
    for target, reachable in ((high + 0.1, False), (0.5 * low + 0.5 * high, True)):
        assert (inverse(limited, row, "income", target, **own).value is not None) == reachable


def test_no_change_reaches_what_is_outside_of_the_range():
    _, limited, X = free_and_limited("mean")
    row, (low, high) = X.iloc[[3]], RANGES["mean"]
    found = {
        goal: counterfactual(limited, row, goal, ["income"])[0].changes is not None
        for goal in ((">=", high), ("<=", high + 1), (">=", high + 1e-9), ("<=", low - 1e-9))
    }
    assert list(found.values()) == [True, True, False, False]


def test_a_class_that_the_range_rules_out_is_never_predicted_nor_reached():
    for wanted, only in ((s.OutputRange(0.6, 0.9), 1), (s.OutputRange(high=0.5), 0)):
        model, X = shaped([wanted], "classes", max_iter=10)
        assert {*model.predict(X)} == {model.classes_[only]}
        assert counterfactual(model, X.iloc[[3]], model.classes_[1 - only], ["income"])[0].changes is None
        assert margin(model, X.iloc[[3]])[0].lower == np.inf


@pytest.mark.parametrize("link", [IDENTITY, LOG, LOGIT], ids=lambda link: link.name)
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_lines_are_on_their_side_of_a_link_with_a_range(link, scale):
    rng, link = np.random.default_rng(0), link.within(0.3, 0.8)
    low = scale * rng.normal(size=300)
    high = low + scale * rng.exponential(size=300) * rng.choice([0.0, 1e-6, 1.0], 300)
    at = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 101)
    seen = link.predictions(at[..., None])[..., 0]
    under, over = below(link, low, high), above(link, low, high)
    assert (under.b >= 0).all()
    assert (over.b >= 0).all()
    assert (under.a[:, None] + under.b[:, None] * at <= seen + 1e-15).all()
    assert (over.a[:, None] + over.b[:, None] * at >= seen - 1e-15).all()


@pytest.mark.parametrize("link", [IDENTITY, LOG, LOGIT], ids=lambda link: link.name)
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.31, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_limits_of_predictions_with_a_range_leave_out_no_raw_score(link, threshold, direction):
    link, raw = link.within(0.3, 0.8), np.linspace(-20, 20, 4001)
    seen = link.predictions(raw[:, None])[:, 0]
    kept = direction * seen <= direction * threshold
    score = raw_threshold(link, threshold, direction)
    assert (direction * raw[kept] <= direction * score).all()


def test_metrics_are_those_of_the_predictions():
    from sklearn.metrics import mean_poisson_deviance, r2_score

    _, limited, X = free_and_limited("counts")
    X, y = X.iloc[:240], np.maximum(np.exp(shaped_table()[1] / 2).round(), 0)
    assert limited.score(X, y) == pytest.approx(r2_score(y, limited.predict(X)), rel=1e-12)
    measured = {own.name: own.value for own in raw_metrics(limited.model_, y, limited.model_.raw(X))}
    assert measured["mean poisson deviance"] == pytest.approx(mean_poisson_deviance(y, limited.predict(X)), rel=1e-9)
    assert measured["R²"] == pytest.approx(r2_score(y, limited.predict(X)), rel=1e-9)


def test_relativities_end_there_too():
    for task in ("mean", "counts"):
        _, limited, X = free_and_limited(task)
        tables = limited.relativities(X)
        seen = tables.predict(X)
        assert RANGES[task] == (seen.min(), seen.max())
        assert (tables.head()["low"], tables.head()["high"]) == RANGES[task]


# ---- what is said, refused and warned of ----------------------------------------------------------------------------


@pytest.mark.parametrize("task", RANGES)
def test_the_claim_is_proven_checked_attacked_and_in_plain_words(task):
    _, limited, X = free_and_limited(task)
    (claim,) = [own for own in limited.certify().claims if own.kind == "range"]
    assert (claim.proven, claim.requested, claim.subject) == (True, True, "predictions")
    low, high = RANGES[task]
    assert f"below {low:g} or above {high:g}" in claim.statement
    data = sealed(*describe(limited._saved()))
    assert verdicts(data)["range", "predictions"] == "proven"
    (check,) = [own for own in limited.verify(X, n=500).checks if own.kind == "range"]
    assert (check.violations, check.tried > 500) == (0, True)


def test_a_model_without_its_range_is_not_proven_and_the_attack_would_find_it():
    _, limited, X = free_and_limited("mean")
    model = limited.model_
    broken = model.replace(loss=model.loss.within(-np.inf, np.inf))
    (claim,) = [own for own in certify(broken).claims if own.kind == "range"]
    assert not claim.proven
    assert run(Within(Search.around(broken, X, 500), claim)).violations > 0


CONTRADICTIONS = {
    "two ranges": ([s.OutputRange(0, 9), s.OutputRange(1, 9)], "two ranges"),
    "convex and a high": ([s.Convex("income"), s.OutputRange(0, 9)], "leave out high=9.0"),
    "all convex and a high": ([s.OutputRange(high=9), s.Convex()], "leave out high=9.0"),
    "concave and a low": ([s.Concave("age"), s.OutputRange(0)], "leave out low=0.0"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_name_both_sides_and_the_way_out(name):
    constraints, words = CONTRADICTIONS[name]
    with pytest.raises(ValueError, match=f"contradict each other.*OutputRange.*{words}"):
        shaped(constraints)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (None, None), (np.nan, 1), (0, np.inf), ("0", 1), (True, 2)])
def test_a_range_that_says_nothing_is_refused(low, high):
    with pytest.raises(ValueError, match="OutputRange"):
        s.OutputRange(low, high)


REFUSED = {
    "order": ([s.OutputRange(0, 1)], "needs one number, quantiles or two classes"),
    "classes": ([s.OutputRange(-0.1, 0.5)], r"low of .* must be in \[0, 1\)"),
    "counts": ([s.OutputRange(-2, -1)], "high of .* must be positive"),
}


@pytest.mark.parametrize("task", REFUSED)
@pytest.mark.filterwarnings(OUTSIDE)
def test_ranges_that_a_task_cannot_have_are_refused(task):
    constraints, words = REFUSED[task]
    with pytest.raises(ValueError, match=words):
        shaped(constraints, task)


def test_several_classes_have_no_range():
    X, y = shaped_table()
    with pytest.raises(ValueError, match="probabilities of 3 classes sum up to 1"):
        SpectralClassifier(constraints=[s.OutputRange(0.1)], **TIGHT).fit(X, np.digitize(y, [2, 3]))


def test_targets_outside_of_the_range_are_warned_of_by_row():
    X, y = shaped_table()
    with pytest.warns(UserWarning, match=r"targets are outside of OutputRange\(high=2.5\), such as .* at row"):
        SpectralRegressor(constraints=[s.OutputRange(high=2.5)], **TIGHT).fit(X, y)


def test_with_an_exposure_the_range_is_that_of_the_count():
    _, limited, X = free_and_limited("counts")
    seen = limited.predict(X, exposure=np.full(len(X), 100.0))
    assert {*seen} == {RANGES["counts"][1]}


@pytest.mark.filterwarnings(OUTSIDE)
@pytest.mark.parametrize("task", ["mean", "classes"])
def test_predictions_in_a_range_are_brought_into_balance(task):
    make, target = TASKS[task]
    X, y = shaped_table()
    target = target(y)
    model = make(constraints=[range_of(task)], balance=True, random_state=0, **TIGHT).fit(X, target)
    assert final(model, X).sum() == pytest.approx(target.sum(), rel=1e-9)


@pytest.mark.filterwarnings(OUTSIDE)
def test_a_balance_that_the_range_rules_out_is_refused():
    X, y = shaped_table()
    with pytest.raises(ValueError, match=r"balance must be False, because targets of .* are not reached"):
        SpectralRegressor(constraints=[s.OutputRange(high=0.5)], balance=True, random_state=0, **TIGHT).fit(X, y)


CHANGES = {
    "an end that is text": {"low": "1", "high": None},
    "a low above the high": {"low": 3.0, "high": 2.0},
    "no end": {"low": None, "high": None},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_with_a_range_that_cannot_be_is_refused(name, tmp_path):
    _, limited, _ = free_and_limited("mean")
    header, tensors = describe(limited._saved())
    header["parameters"]["constraints"] = [
        {"shape": ["OutputRange", {"dict": [[k, v] for k, v in CHANGES[name].items()]}]}
    ]
    assert exit_code(sealed(header, tensors)) == 2
    refuse(tmp_path, sealed(header, tensors), "constraints has a OutputRange that cannot be")


def test_a_file_with_a_range_for_several_classes_is_refused(tmp_path):
    X, y = shaped_table()
    model = SpectralClassifier(effort="fast", max_iter=2, random_state=0).fit(X, np.digitize(y, [2, 3]))
    header, tensors = describe(model._saved())
    header["parameters"]["constraints"] = encode([s.OutputRange(0.1, 0.9)], "constraints")
    assert exit_code(sealed(header, tensors)) == 2
    refuse(tmp_path, sealed(header, tensors), "needs one number, quantiles or two classes")


@pytest.mark.filterwarnings(OUTSIDE)
def test_training_continues_with_a_range(tmp_path):
    X, y = shaped_table()
    model, _ = shaped([s.OutputRange(2, 3)])
    model.save(tmp_path / "model", training_state=True)
    again = load(tmp_path / "model").partial_fit(X, y)
    seen = again.predict(X)
    assert 2.0 <= seen.min() <= seen.max() <= 3.0
    np.testing.assert_array_equal(seen, model.partial_fit(X, y).predict(X))

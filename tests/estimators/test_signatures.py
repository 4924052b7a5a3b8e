"""What the methods of estimators take: by name, as the functions behind them do, and what a wrong name is answered.

Also ``fitted``, ``reading``, ``governing``, ``writing`` and ``table/close_names``.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import numpy as np
import pytest
from fitted_models import X, fitted

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor, compare_report
from lambdak.estimators.methods import ModelMethods
from lambdak.export import export_model, targets
from lambdak.governance.comparison import compare
from lambdak.governance.drift import drift
from lambdak.governance.fairness import fairness
from lambdak.governance.performance import performance
from lambdak.governance.tables import relativities, scorecard
from lambdak.optimize import counterfactual, margin, reasons
from lambdak.report import write_report
from lambdak.report.comparison import write_comparison
from lambdak.report.dossier import dossier_findings, write_card
from lambdak.report.subject import OwnerWords

FUNCTIONS = [performance, compare, drift, fairness, relativities, scorecard, counterfactual, margin, reasons]
METHODS = [name for name, _ in inspect.getmembers(ModelMethods, inspect.isfunction) if not name.startswith("_")]


def taken(function, *without):
    """Names of arguments, their defaults, and whether they may be given by position."""
    return {
        own.name: (own.default, own.kind)
        for own in inspect.signature(function).parameters.values()
        if own.name not in ("self", "model", "rivals", "models", "subject", *without)
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_argument_of_a_method_has_a_name_that_completion_shows(name):
    kinds = {own.kind for own in inspect.signature(getattr(SpectralRegressor, name)).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def test_methods_at_a_horizon_show_it_beside_all_other_arguments():
    for name in ("report", "performance", "explain_local", "export"):
        found = taken(getattr(lambdak.SpectralSurvival, name))
        assert found == taken(getattr(ModelMethods, name)) | {"horizon": (None, inspect.Parameter.KEYWORD_ONLY)}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_method_takes_what_the_function_behind_it_takes(function):
    method = getattr(ModelMethods, function.__name__)
    without = () if "exposure" in inspect.signature(function).parameters else ("exposure",)
    assert taken(method, *without) == taken(function)


def test_reports_take_what_the_functions_behind_them_take():
    assert taken(ModelMethods.report) == taken(write_report, "effects")
    assert taken(compare_report) == taken(write_comparison)


def test_dossiers_and_cards_take_what_is_computed_and_all_words_of_the_owner():
    words = {own.name: (None, inspect.Parameter.KEYWORD_ONLY) for own in fields(OwnerWords)}
    computed = taken(dossier_findings, "words") | words
    assert taken(ModelMethods.dossier, "path") == computed
    of_hubs = taken(write_card, "path", "X", "y", "options")
    assert taken(ModelMethods.model_card, "path") == computed | of_hubs | {"seeds": (0, inspect.Parameter.KEYWORD_ONLY)}


def test_exports_take_the_options_of_all_targets_with_their_defaults():
    options = {}
    for target in targets.TARGETS.values():
        written = targets.to_table if target.write is targets.to_table else target.write
        options |= {name: default for name, (default, _) in taken(written, "path", "options").items()}
    options |= {name: default for name, (default, _) in taken(relativities).items()}
    options["offset"] = None  # of ONNX a flag, of SQL a column
    found = {name: default for name, (default, _) in taken(export_model, "path", "to").items()}
    assert found == options
    assert taken(ModelMethods.export) == taken(export_model)


@pytest.mark.parametrize("target", targets.TARGETS)
def test_an_export_refuses_the_option_of_another_target_and_takes_its_own_default(target, tmp_path):
    own = targets.TARGETS[target]
    given = {"pdo": 20} if target == "table" else {"two_way": 1}
    with pytest.raises(TypeError, match=next(iter(given))):
        fitted("regressor").export(tmp_path / f"model{own.endings[0]}", **given)
    if target in ("c", "r"):
        fitted("regressor").export(tmp_path / f"model{own.endings[0]}", bands=10, whole=None, explain=False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: model.report("r.html", X, x_test=X), "Did you mean 'X_test'?"),
        (lambda model: model.performance(X, X, exposures=[1]), "Did you mean 'exposure'?"),
        (lambda model: model.relativities(X, bandss=3), "Did you mean 'bands'?"),
        (lambda model: model.scorecard(X, base_scores=3), "Did you mean 'base_score'?"),
        (lambda model: model.fairness(X, "a", proxie=["b"]), "Did you mean 'proxies'?"),
        (lambda model: model.export("model.onnx", explains=True), "Did you mean 'explain'?"),
        (lambda model: model.dossier("d.html", intended_uses="letters"), "Did you mean 'intended_use'?"),
        (lambda model: model.dossier("d.html", X_test=X), "Did you mean 'X'?"),
        (lambda model: model.fit(X, X, sample_weights=[1]), "Did you mean 'sample_weight'?"),
        (lambda model: model.predict(X, exposures=[1]), "Did you mean 'exposure'?"),
        (lambda model: compare_report("r.html", {}, x_test=X), "Did you mean 'X_test'?"),
        (lambda model: SpectralRegressor(monotone_cst={}), "Did you mean 'monotonic_cst'?"),
        (lambda model: SpectralClassifier(n_job=2), "Did you mean 'n_jobs'?"),
        (lambda model: lambdak.DateExpander(column=["a"]), "Did you mean 'columns'?"),
        (lambda model: model.drift(X, X, zzz=1), "it takes X_old, X_new, sample_weight_old"),
    ],
)
def test_a_wrong_name_is_answered_by_the_one_that_was_probably_meant(call, said):
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument .*" + re.escape(said)):
        call(fitted("regressor"))


def test_an_estimator_of_a_user_asks_too():
    class Own(SpectralRegressor):
        def quote(self, row, currency="EUR"):
            return row, currency

    assert Own().quote(1, currency="USD") == (1, "USD")
    with pytest.raises(TypeError, match=r"Own.quote\(\) got an unexpected keyword argument 'curency'. Did you mean"):
        Own().quote(1, curency="USD")


def test_warnings_name_the_line_of_the_user():
    rows = np.arange(12.0).reshape(-1, 1)
    with pytest.warns(UserWarning, match="sorted labels") as caught:
        lambdak.SpectralOrdinalClassifier(effort="fast", max_iter=1).fit(rows, ["low", "middle", "high"] * 4)
    assert caught[0].filename == __file__

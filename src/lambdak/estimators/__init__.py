"""The estimators by their public names: regressors and classifiers, on tables; dates as numbers; files, comparisons.

Modules: ``base``, ``settings`` and where parameters are documented once, ``fit_arguments`` rows as given; ``fitted``
what methods start from, ``reading``, ``governing`` and ``writing``, which are all ``methods``; ``views`` how a fitted
one looks, or two of them; ``regressors``, ``quantile_regressor``, ``distribution`` at any level, ``single_quantile``
for tools that take a list of them, ``skpro`` for skpro, ``classifiers``; ``survival`` times to an event,
``competing_risks``, ``event_arguments`` as given, ``horizon_methods`` readers at one time; ``dates`` as a transformer;
``files`` to save and load them, and pipelines of scikit-learn that end with one, ``pipeline_contents`` what their
steps take in memory, ``saved_training`` what training needs ⇄ what a file holds of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lambdak.estimators.classifiers import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.estimators.quantile_regressor import SpectralQuantileRegressor
from lambdak.estimators.regressors import SpectralRegressor

if TYPE_CHECKING:
    from lambdak.estimators.competing_risks import SpectralCompetingRisks
    from lambdak.estimators.dates import DateExpander
    from lambdak.estimators.files import from_json, load, save
    from lambdak.estimators.survival import SpectralSurvival
    from lambdak.estimators.views import compare_report

__all__ = [
    "DateExpander",
    "SpectralClassifier",
    "SpectralCompetingRisks",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "SpectralSurvival",
    "compare_report",
    "from_json",
    "load",
    "save",
]

_LATER = {
    "DateExpander": "dates", "SpectralCompetingRisks": "competing_risks", "SpectralSurvival": "survival",
    "compare_report": "views", "from_json": "files", "load": "files", "save": "files",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return what only some programs need, imported at its first use."""
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

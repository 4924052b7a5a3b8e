"""The estimators by their public names: regressors and classifiers, on tables; dates as numbers; files, comparisons."""

from lambdak.estimators.classifiers import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.estimators.dates import DateExpander
from lambdak.estimators.files import from_json, load, save
from lambdak.estimators.quantile_regressor import SpectralQuantileRegressor
from lambdak.estimators.regressors import SpectralRegressor
from lambdak.estimators.reports import compare_report

__all__ = [
    "DateExpander",
    "SpectralClassifier",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "compare_report",
    "from_json",
    "load",
    "save",
]

"""The estimators by their public names: regressors and classifiers, on tables; dates as numbers; files, comparisons.

Modules: ``base``, ``settings``, ``methods``, ``views`` and ``notebook_card`` how a fitted one looks, ``docstrings``
parameters that are documented once, ``reports`` of two of them, ``saved_training`` what training needs ⇄ what a file
holds of it; ``regressors``, ``quantile_regressor``, ``classifiers``, ``validation`` rows as given, ``own_names`` of
inherited methods; ``dates`` as a transformer; ``large`` tables that are not in memory; ``files`` to save and load
them, ``pipelines`` of scikit-learn that end with one, ``pipeline_contents`` what their steps take in memory;
``class_order`` the order of ordered classes.
"""

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

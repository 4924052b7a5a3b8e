"""The estimators by their public names: two regressors and two classifiers, on tables."""

from lambdak.classifiers import SpectralClassifier, SpectralOrdinalClassifier
from lambdak.regressors import SpectralQuantileRegressor, SpectralRegressor

__all__ = ["SpectralClassifier", "SpectralOrdinalClassifier", "SpectralQuantileRegressor", "SpectralRegressor"]

"""All estimators, for tests that each must pass."""

from __future__ import annotations

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

ALL = [SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier]

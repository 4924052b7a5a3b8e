"""
Intervals that cover: conformal prediction with MAPIE
=====================================================

*Will 90 of 100 new outcomes be inside?* Quantiles are estimates. Conformal prediction adds a theorem: if new rows are
like the calibration rows, the share is met. MAPIE does that around any scikit-learn regressor.

Needs mapie.
"""

import matplotlib.pyplot as plt
import numpy as np
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 3000
km, hour = rng.uniform(1, 30, rows), rng.uniform(6, 22, rows)
rush = np.exp(-((hour - 17) ** 2) / 4)
minutes = 5 + 2 * km * (1 + 0.6 * rush) + km * rng.gamma(2, 0.25, rows)
trips = np.column_stack([km, hour])  # an array, because MAPIE tries fitted models on arrays
fit, calibrate, test = slice(0, 1200), slice(1200, 2000), slice(2000, rows)

# %%
# Around one prediction: an interval of the same width for all trips.
mean = SpectralRegressor(monotonic_cst=[1, 0], effort="fast", random_state=0).fit(trips[fit], minutes[fit])
same = SplitConformalRegressor(mean, confidence_level=0.9, prefit=True).conformalize(
    trips[calibrate], minutes[calibrate]
)

# %%
# Around quantiles: wide where trips vary, narrow where they do not. MAPIE wants the lower quantile, the upper one and
# the median.
quantiles = [
    SpectralRegressor("quantile", quantile=level, monotonic_cst=[1, 0], effort="fast", random_state=0)
    for level in (0.05, 0.95, 0.5)
]
fitted = [each.fit(trips[fit], minutes[fit]) for each in quantiles]
adaptive = ConformalizedQuantileRegressor(fitted, confidence_level=0.9, prefit=True)
adaptive.conformalize(trips[calibrate], minutes[calibrate])

intervals = {}
for name, method in {"same width": same, "adaptive": adaptive}.items():
    intervals[name] = method.predict_interval(trips[test])[1][:, :, 0].T
    low, high = intervals[name]
    inside = (low <= minutes[test]) & (minutes[test] <= high)
    short, long = km[test] < 10, km[test] > 20
    of_short, of_long = inside[short].mean(), inside[long].mean()
    print(f"{name:<11} {inside.mean():.1%} inside; {of_short:.1%} of short trips, {of_long:.1%} of long ones")

# %%
order = np.argsort(km[test])[::5]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
for ax, (name, (low, high)) in zip(axes, intervals.items(), strict=True):
    ax.vlines(km[test][order], low[order], high[order], color="C0", alpha=0.35, linewidth=2, label="90 % interval")
    ax.plot(km[test][order], minutes[test][order], ".", color="black", markersize=4, label="observed")
    ax.set(xlabel="distance in km", title=name)
axes[0].set_ylabel("minutes")
axes[0].legend(frameon=False)
plt.show()

# %%
# **Caveat.** The theorem is about all new rows together, not about each kind of them, and only while they are like
# the calibration rows.
#
# **Read on:** :doc:`/guide/estimators` for quantiles that never cross.

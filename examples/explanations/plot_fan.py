"""
A fan of quantiles, and whether it holds
========================================

*Are nine of ten outcomes really inside the 90 % band?* Row after row, the bands of a quantile model beside what
happened, on rows that the fit did not see.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from lambdak import SpectralQuantileRegressor
from lambdak.explain.column_effect import Fan
from lambdak.explain.plots import draw_fan

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
levels = (0.05, 0.25, 0.5, 0.75, 0.95)
model = SpectralQuantileRegressor(levels, monotonic_cst={"bmi": 1, "bp": 1}, effort="fast", random_state=0)
model.fit(X_train, y_train)

quantiles = model.predict_quantiles(X_test)
order = np.argsort(quantiles[:, 2])
fan = Fan("progression", levels, quantiles[order], y_test.to_numpy()[order])
draw_fan(fan)
plt.show()

# %%
# How many of the test rows lie below each quantile? With 133 rows, a few percent are chance.
for level, share in zip(levels, (y_test.to_numpy()[:, None] <= quantiles).mean(axis=0), strict=True):
    print(f"quantile {level:4}: {share:.0%} of the rows are below it")

# %%
# ``performance`` has the same with intervals from resampled rows:
print(model.performance(X_test, y_test, n_resamples=50))

# %%
# **Caveat.** That quantiles are in order is proven. That they cover the right share is estimated, and holds for rows
# like those of the fit.
#
# **Read on:** :doc:`/guide/estimators`, :doc:`/guide/portfolio`.

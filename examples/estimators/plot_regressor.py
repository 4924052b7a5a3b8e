"""
Predict a number: SpectralRegressor
===================================

*How ill will a patient be in a year?* A table goes in as it is, a prediction comes out. One argument makes sure that
a larger body mass index or blood pressure never lowers it.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SpectralRegressor(monotonic_cst={"bmi": 1, "bp": 1}, effort="fast", random_state=0)
model.fit(X, y)
model.predict(X.head(3)).round(1)

# %%
# How good is it for patients that the fit did not see? Five folds say:
predicted = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
print(f"R² = {r2_score(y, predicted):.3f}")

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.scatter(predicted, y, s=14, alpha=0.6)
ax.axline((150, 150), slope=1, color="0.4", linestyle="--", label="as predicted")
ax.set(
    xlabel="predicted progression of the disease", ylabel="observed progression", title="Patients the fit did not see"
)
ax.legend(frameon=False)
plt.show()

# %%
# Every column has a *proven* bound: however it changes, no prediction moves by more, for any patient, in the table or
# not.
bounds = pd.Series(model.feature_strengths_, X.columns, name="proven bound").sort_values(ascending=False)
bounds.round(1)

# %%
# **Caveat.** The table is small and nearly linear, so a linear model does as well here. The bounds are proven, not
# tight: real changes reach a part of them.
#
# **Read on:** :doc:`/guide/estimators` has all settings, :doc:`/guide/comparison` says where boosted trees are
# better.

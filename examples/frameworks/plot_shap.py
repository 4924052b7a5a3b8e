"""
Beside SHAP
===========

*Our reports have Shapley values: do they agree?* SHAP works on the model as on any other. ``explain_local`` answers
the same question from the matrices, without samples and in a fraction of the time.

Needs shap.
"""

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_diabetes

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "sex", "bmi", "bp", "s3", "s5"]]
model = SpectralRegressor(monotonic_cst={"bmi": 1, "bp": 1}, effort="fast", random_state=0).fit(X, y)

# %%
# Both need something to compare with. Give them the same: one patient with all medians.
medians, patients = X.median().to_frame().T, X.head(40)
own = model.explain_local(patients, baseline=medians).attribution

theirs = shap.KernelExplainer(model.predict, medians).shap_values(patients, silent=True)

# %%
# Each adds up to the prediction minus that of the medians:
whole = model.predict(patients) - model.predict(medians)
for name, values in {"lambdak": own, "SHAP": theirs}.items():
    print(f"{name:<8} largest gap of the sum: {np.abs(values.sum(axis=1) - whole).max():.1e}")
print(f"correlation of the two: {np.corrcoef(own.ravel(), theirs.ravel())[0, 1]:.4f}")

# %%
# They share an interaction between two columns a little differently: that is where the dots leave the line.
figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for i, name in enumerate(X.columns):
    ax.scatter(theirs[:, i], own[:, i], s=16, label=name)
ax.axline((0, 0), slope=1, color="0.5", linewidth=1)
ax.set(xlabel="Shapley value", ylabel="attribution of explain_local", title="40 patients, six columns")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Neither says what would happen if the column were changed in the world. With another baseline both
# change.
#
# **Read on:** :doc:`/guide/insurance`.

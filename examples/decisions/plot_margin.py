"""
How safe is a decision?
=======================

*Would a small error of measurement turn the diagnosis?* ``margin`` says how far the columns of a row may move before
the decision changes: up to there it provably does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from lambdak import SpectralClassifier

cancer = load_breast_cancer(as_frame=True)
X = cancer.data[["mean radius", "mean texture", "mean smoothness", "mean concavity"]]
y = np.where(cancer.target == 0, "malignant", "benign")
model = SpectralClassifier(monotonic_cst="increasing", effort="fast", random_state=0).fit(X, y)

patient = X.iloc[[0]]
print(model.margin(patient, threshold=0.5))

# %%
# A spread is the usual variation of a column, so that columns can be compared. "Proven" is about all columns moving
# together; the lines below it move one at a time.
#
# How safe are other decisions? Patients with probabilities from low to high. The closer to one half, the less may
# change; but patients with the same probability need not be equally safe.
probability = model.predict_proba(X)[:, 1]
wanted = np.linspace(0.02, 0.98, 20)
some = np.unique([np.argmin(np.abs(probability - each)) for each in wanted])
margins = model.margin(X.iloc[some], threshold=0.5, gap=0.05)
safe = np.array([own.lower for own in margins])

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.scatter(probability[some], safe, c=np.where(probability[some] > 0.5, "C3", "C0"), alpha=0.8)
ax.axvline(0.5, color="0.5", linestyle="--", linewidth=1, label="the decision changes here")
ax.axhspan(0, 0.05, color="0.85", zorder=0, label="less than 0.05 spreads: measure again")
ax.set(
    xlabel="P(malignant)",
    ylabel="proven margin, in spreads of the columns",
    ylim=(0, None),
    title=f"{len(some)} patients",
)
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** The decision is the model's. A large margin says that no small error of measurement turns it, not that
# it is right.
#
# **Read on:** :doc:`/guide/decide`.

"""
Calibrated probabilities
========================

*If it says 30 percent, does it happen in 30 of 100 cases?* A reliability diagram checks it, and scikit-learn's
``CalibratedClassifierCV`` repairs it where the world has changed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)


def campaign(rows, base):
    """Letters to customers, and who answered."""
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows),
            "orders": rng.poisson(3, rows),
            "region": rng.choice(["north", "south"], rows),
        }
    )
    score = base + 0.5 * table["orders"] - 0.03 * (table["age"] - 45)
    return table, (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


X_train, y_train = campaign(2000, -1.5)
X_new, y_new = campaign(3000, -2.7)  # a year later, fewer people answer
model = SpectralClassifier(monotonic_cst={"orders": 1}, effort="fast", random_state=0).fit(X_train, y_train)

# %%
# A third of the new rows calibrates, the others judge. ``FrozenEstimator`` keeps the model as it is.
calibrated = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(X_new[:1000], y_new[:1000])
for name, own in {"as fitted": model, "calibrated again": calibrated}.items():
    print(f"{name:<17} log-loss {log_loss(y_new[1000:], own.predict_proba(X_new[1000:])):.3f}")

# %%
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name, own in {"as fitted": model, "calibrated again": calibrated}.items():
    CalibrationDisplay.from_estimator(own, X_new[1000:], y_new[1000:], n_bins=8, strategy="quantile", name=name, ax=ax)
ax.set(xlabel="predicted probability of an answer", ylabel="share that answered", title="A year later")
plt.show()

# %%
# A sigmoid that rises keeps every order, so a monotone model stays monotone.
#
# **Caveat.** The calibrated classifier is scikit-learn's object: certificates, explanations and exports are those of
# the model inside. If you have enough new rows, fit again instead.
#
# **Read on:** :doc:`/guide/portfolio` has ``model.performance(...).calibration()``.

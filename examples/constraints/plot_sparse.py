"""
Columns that vanish
===================

*Which of ten columns are needed?* With ``alpha`` columns that help little become exactly zero: not small, zero.
Whatever such a column holds, the prediction is the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=1)
alphas = [0, 0.5, 1, 1.5, 2]
models = [SpectralRegressor(alpha=alpha, effort="fast", random_state=0).fit(X_train, y_train) for alpha in alphas]
strengths = np.array([model.feature_strengths_ for model in models])
for alpha, model, own in zip(alphas, models, strengths, strict=True):
    kept = ", ".join(X.columns[own > 0])
    print(f"alpha={alpha}: R² {model.score(X_test, y_test):.2f} on test rows with {kept}")

# %%
# A column that is gone can be anything, even nonsense:
gone = X.columns[strengths[-1] == 0]
nonsense = X_test.assign(**dict.fromkeys(gone, 1e6))
print("same predictions:", bool((models[-1].predict(X_test) == models[-1].predict(nonsense)).all()))

# %%
# White is zero.
figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
shown = ax.imshow(np.where(strengths > 0, strengths, np.nan), cmap="Blues", vmin=0, aspect="auto")
ax.set_xticks(range(len(X.columns)), X.columns)
ax.set_yticks(range(len(alphas)), alphas)
ax.set(xlabel="column", ylabel="alpha", title="What each column can do, by alpha")
figure.colorbar(shown, label="proven bound on its influence")
plt.show()

# %%
# **Caveat.** Columns that act only together with others are the first to be lost. Columns of pure noise vanish at
# about alpha = 1 in any table, and many of them are dropped without it, too.
#
# **Read on:** :doc:`/guide/estimators`.

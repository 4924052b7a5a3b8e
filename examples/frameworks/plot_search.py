"""
A search over settings
======================

*Are the defaults good enough for my table?* ``GridSearchCV`` and its relatives answer that. There is little to tune:
``effort``, perhaps ``dim`` and ``alpha``, and above all which constraints cost nothing.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, KFold

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
constraints = {"free": None, "bmi and bp rise": {"bmi": 1, "bp": 1}, "all rise": "increasing"}
search = GridSearchCV(
    SpectralRegressor(effort="fast", random_state=0),
    {"monotonic_cst": list(constraints.values())},
    cv=KFold(4, shuffle=True, random_state=0),
    scoring="r2",
)
search.fit(X, y)

# %%
found = pd.DataFrame(search.cv_results_)
found["constraint"] = list(constraints)  # the order of the grid
print(found[["constraint", "mean_test_score", "std_test_score"]].round(3).to_string(index=False))

# %%
# Folds differ from each other by far more than settings do: whatever must be true may be requested, and costs nothing
# that four folds could show.
folds = found.filter(regex=r"split\d_test_score")
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for fold in folds:
    ax.plot(found["constraint"], found[fold], "o-", color="0.75")
ax.plot(found["constraint"], found["mean_test_score"], "s-", color="C0", linewidth=2, label="mean of the folds")
ax.plot([], [], "o-", color="0.75", label="one fold")
ax.set(ylabel="R² on rows the fit did not see", title="What constraints cost")
ax.legend(frameon=False, loc="center", bbox_to_anchor=(0.5, 0.3))
plt.show()

# %%
# **Caveat.** The best of many is a little too good: judge it on rows that the search did not see.
#
# **Read on:** :doc:`/guide/estimators` says what the fit decides by itself.

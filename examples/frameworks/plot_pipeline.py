"""
In a scikit-learn Pipeline
==========================

*Does it fit into the pipeline we have?* Yes: estimators pass scikit-learn's own checks. Numbers, categories and
missing cells need no preparation, so that a pipeline is for what is special to your table, such as dates.

Saving a pipeline needs ``pip install "lambdak[pipeline]"``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.inspection import PartialDependenceDisplay
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import lambdak
from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 500
rooms = pd.DataFrame(
    {
        "width": rng.uniform(2, 6, rows),
        "length": rng.uniform(2, 8, rows),
        "floor": rng.choice(["wood", "stone", "carpet"], rows),
        "age": np.where(rng.random(rows) < 0.15, np.nan, rng.uniform(0, 80, rows)),  # some are missing
    }
)
cost = 55 * rooms["width"] * rooms["length"] * np.where(rooms["floor"] == "stone", 1.4, 1) + rng.normal(0, 80, rows)

# %%
# Products of width and length are computed, all other columns go through as they are, with their names:
products = PolynomialFeatures(interaction_only=True, include_bias=False)
prepare = make_column_transformer(
    (products, ["width", "length"]), remainder="passthrough", verbose_feature_names_out=False
)
pipeline = make_pipeline(prepare, SpectralRegressor(monotonic_cst={"width length": 1}, effort="fast", random_state=0))
pipeline.set_output(transform="pandas")
pipeline.fit(rooms, cost)

# %%
print("columns of the model:", ", ".join(pipeline[-1].feature_names_in_))
print(f"R² over three folds: {cross_val_score(pipeline, rooms, cost, cv=3).mean():.3f}")

# %%
# scikit-learn's tools read the pipeline like any other:
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
shown = PartialDependenceDisplay.from_estimator(pipeline, rooms[:50], ["width"], ax=ax, kind="both", grid_resolution=30)
shown.axes_[0, 0].set(xlabel="width in m", ylabel="cost in euros", title="50 rooms, and their average")
plt.show()

# %%
# It is saved without pickle, too:
file = Path(tempfile.mkdtemp()) / "pipeline.skops"
lambdak.save(pipeline, file)
print("same predictions:", bool((lambdak.load(file).predict(rooms) == pipeline.predict(rooms)).all()))

# %%
# **Caveat.** Guarantees are about the columns that the model sees, after the steps before it. Scaling a column by a
# negative number turns a promise around.
#
# **Read on:** :doc:`/guide/save-and-load`.

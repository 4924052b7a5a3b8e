"""
As a scorecard: points that add up
==================================

*How many points does an applicant get, and why?* ``scorecard`` turns a classifier into whole points for each column.
Twenty points more double the odds, and the distance from the model is proven.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 3000
people = pd.DataFrame(
    {
        "age": rng.integers(18, 80, rows),
        "utilisation": rng.uniform(0, 100, rows).round(),
        "housing": rng.choice(["own", "rent", "other"], rows),
    }
)
score = 1.5 + 0.03 * people["age"] - 0.04 * people["utilisation"] + 0.6 * (people["housing"] == "own")
repaid = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "good", "bad")
train, test = slice(0, 2000), slice(2000, None)
model = SpectralClassifier(dim=1, monotonic_cst={"utilisation": -1}, effort="fast", random_state=0)
model.fit(people[train], repaid[train])

card = model.scorecard(
    people[train], repaid[train], pdo=20, base_score=600, base_odds=50, bands=6, whole=["age", "utilisation"]
)
print(card)

# %%
# The same cut-offs on people that the fit did not see: where to draw the line, and what it costs.
unseen = card.evaluate(people[test], repaid[test])
unseen.plot()
plt.show()

# %%
# **Caveat.** ``dim=1`` is a model without interactions, which points can follow closely. A larger ``dim`` may be more
# accurate, and the card is then further from it: the print says how far.
#
# **Read on:** :doc:`/guide/scorecard`, :doc:`/guide/factor-tables`.

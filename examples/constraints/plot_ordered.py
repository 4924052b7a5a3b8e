"""
Ordered categories: a better grade is never worse
=================================================

*Can a borrower with a better rating get a worse offer?* Ratings are no numbers, but they have an order.
``Rising("rating", order=[...])`` promises that predictions follow it; an ordered category of pandas needs no list.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(1)
rows, grades = 150, ["D", "C", "B", "A", "AA"]
loans = pd.DataFrame(
    {"rating": rng.choice(grades, rows, p=[0.1, 0.3, 0.35, 0.2, 0.05]), "years": rng.uniform(1, 20, rows)}
)
worth = loans["rating"].map({"D": 0, "C": 2, "B": 3, "A": 3.5, "AA": 3.7})
limit = 10 + 3 * worth - 0.2 * loans["years"] + rng.normal(0, 4, rows)  # thousand euros

free = SpectralRegressor(effort="fast", random_state=0).fit(loans, limit)
ordered = SpectralRegressor(constraints=[s.Rising("rating", order=grades)], effort="fast", random_state=0)
ordered.fit(loans, limit)
for claim in ordered.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
# An ordered category of pandas brings its order along:
as_category = loans.assign(rating=pd.Categorical(loans["rating"], grades, ordered=True))
same = SpectralRegressor(constraints=[s.Rising("rating")], effort="fast", random_state=0).fit(as_category, limit)
print(same.model_.promises.shapes)

# %%
each = pd.DataFrame({"rating": grades, "years": 10.0})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for grade, offset in zip(grades, range(len(grades)), strict=True):
    own = limit[loans["rating"] == grade]
    ax.scatter(offset + rng.uniform(-0.12, 0.12, len(own)), own, s=10, color="0.75")
ax.plot(free.predict(each), "o--", label="free")
ax.plot(ordered.predict(each), "o-", label="Rising('rating', order=…)")
ax.set_xticks(range(len(grades)), grades)
ax.set(xlabel="rating", ylabel="limit in thousand euros", title="Loans of ten years")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Levels that training did not see, and missing cells, are in no order: nothing is promised of them.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/scorecard`.

"""
What if: an interval that no answer can leave
=============================================

*How far can the price go if the mileage turns out to be different?* ``what_if`` moves one column through a whole
range and returns an interval that the prediction of this row provably cannot leave.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 1000
cars = pd.DataFrame(
    {
        "mileage": rng.uniform(0, 250, rows),  # thousand km
        "age": rng.uniform(0, 20, rows),
        "make": rng.choice(["Alfa", "Lada", "Saab"], rows),
    }
)
new_price = cars["make"].map({"Alfa": 32, "Lada": 14, "Saab": 38})
price = new_price * np.exp(-0.09 * cars["age"] - 0.004 * cars["mileage"]) + rng.normal(0, 0.8, rows)
model = SpectralRegressor(monotonic_cst={"mileage": -1, "age": -1}, effort="fast", random_state=0).fit(cars, price)

mine = pd.DataFrame({"mileage": [90.0, 40.0], "age": [6.0, 3.0], "make": ["Saab", "Lada"]})
answer = model.explain_local(mine).what_if("mileage", (60, 130))
for row, lower, upper in zip(mine.itertuples(), answer.lower, answer.upper, strict=True):
    print(f"{row.make}: between {lower:.2f} and {upper:.2f} thousand euros, wherever in 60 to 130 the mileage is")

# %%
# Levels of a category work in the same way. Without a range it is everything, also levels that nobody has seen:
anything = model.explain_local(mine).what_if("make")
print("any make at all:", anything.lower.round(2), "to", anything.upper.round(2))

# %%
mileage = np.linspace(0, 250, 300)
curve = model.predict(pd.DataFrame({"mileage": mileage, "age": 6.0, "make": "Saab"}))
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(mileage, curve, label="prediction")
ax.fill_between([60, 130], answer.lower[0], answer.upper[0], color="C0", alpha=0.2, label="proven interval")
ax.plot(90, model.predict(mine)[0], "o", color="C3", label="this car")
ax.set(xlabel="mileage in thousand km", ylabel="price in thousand euros", title="A Saab, six years old")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** The interval is about the model: what it *could* say, not what the car will sell for. For the latter see
# the examples with quantiles and with MAPIE.
#
# **Read on:** :doc:`/guide/insurance`, :doc:`/guide/guarantees`.

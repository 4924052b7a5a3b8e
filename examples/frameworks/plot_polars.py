"""
A polars table in, a polars table out
=====================================

*Do I have to convert my table?* No. polars, pandas, pyarrow, NumPy and SciPy sparse go in as they are, and tables of
results come back in the library that the table came from.

Needs polars.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 3000
flights = pl.DataFrame(
    {
        "distance": rng.uniform(200, 3000, rows),
        "carrier": rng.choice(["AA", "BB", "CC"], rows),
        "wind": [
            None if gap else wind for gap, wind in zip(rng.random(rows) < 0.1, rng.normal(0, 30, rows), strict=True)
        ],
        "departed": rng.integers(5, 23, rows),
    }
)
queue = 9 * ((pl.col("carrier") == "BB") & (pl.col("departed") >= 16))  # one carrier waits in the evening
flown = 25 + pl.col("distance") / 12 - 0.2 * pl.col("wind").fill_null(0)
flights = flights.with_columns(minutes=flown + queue + pl.Series(rng.normal(0, 6, rows)))
columns = ["distance", "carrier", "wind"]
model = SpectralRegressor(monotonic_cst={"distance": 1}, effort="fast", random_state=0)
model.fit(flights[columns], flights["minutes"])

# %%
# Strings are categories and nulls are missing, without any preparation. What comes back is polars:
effects = model.explain_global(flights[columns]).to_frame()
print(type(effects))
effects.select("column", "kind", "sign", pl.col("proven", "observed").round(1))

# %%
# The model does not know the hour. What does that leave unexplained, by carrier and hour, in polars' own words?
late = (
    flights.with_columns(late=pl.col("minutes") - pl.Series(model.predict(flights[columns])))
    .group_by("departed", "carrier")
    .agg(pl.col("late").mean(), flights=pl.len())
    .sort("departed")
)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for carrier in ("AA", "BB", "CC"):
    own = late.filter(pl.col("carrier") == carrier)
    ax.plot(own["departed"], own["late"], "o-", label=carrier)
ax.axhline(0, color="0.5", linewidth=1)
ax.set(xlabel="hour of departure", ylabel="minutes over the prediction", title="One carrier is late in the evening")
ax.legend(frameon=False, ncols=3)
plt.show()

# %%
# **Caveat.** Dates and durations are refused: replace them with numbers, such as the hour above. A LazyFrame is
# collected by you, when you want.
#
# **Read on:** :doc:`/guide/bad-data` lists every type of cell, and what happens to it.

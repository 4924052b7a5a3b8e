"""
As SQL: score a table where it is
=================================

*Can the database predict by itself?* ``to_sql`` turns a model into one SELECT for DuckDB, PostgreSQL or SQLite.
Nothing is installed there, and no row leaves the database.

Needs duckdb.
"""

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak.export import to_sql

rng = np.random.default_rng(0)
rows = 2000
customers = pd.DataFrame(
    {
        "id": np.arange(rows),
        "age": rng.uniform(18, 80, rows),
        "visits": rng.poisson(4, rows),
        "region": rng.choice(["north", "south", "west"], rows),
    }
)
columns = ["age", "visits", "region"]
spent = 20 + 12 * customers["visits"] * np.where(customers["region"] == "north", 1.5, 1) + rng.normal(0, 15, rows)
model = SpectralRegressor(monotonic_cst={"visits": 1}, dim=3, effort="fast", random_state=0)
model.fit(customers[columns], spent)

query = to_sql(model, dialect="duckdb", table="customers", key="id")
print("\n".join(query.splitlines()[:6]), f"\n... {len(query) / 1e3:.0f} kB in all")

# %%
# The query in the database:
database = duckdb.connect()
database.register("customers", customers)
scores = database.sql(query).df().sort_values("id", ignore_index=True)
print(f"largest difference from Python: {np.abs(scores['prediction'] - model.predict(customers[columns])).max():.1e}")

# %%
# It is a table like any other: join it, group it, draw it.
database.register("scores", scores)
means = database.sql("""
    SELECT region, visits, avg(prediction) AS expected, count(*) AS customers
    FROM customers JOIN scores USING (id) WHERE visits <= 9 GROUP BY ALL ORDER BY ALL
""").df()
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for region, own in means.groupby("region"):
    ax.plot(own["visits"], own["expected"], "o-", label=region)
ax.set(xlabel="visits a month", ylabel="expected spending in euros", title="Predicted and averaged in DuckDB")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Eigenvalues in SQL are slow: ``dim=1`` is a sum of CASE expressions and fast everywhere, small ``dim``
# is fine in DuckDB, large ones belong into C or ONNX.
#
# **Read on:** :doc:`/guide/export-sql`.

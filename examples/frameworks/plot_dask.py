"""
A table on a cluster: Dask
==========================

*The table is spread over many machines: can it be fitted there?* The estimators of ``lambdak.dask`` take Dask
collections. Workers train one model together; it is an ordinary model, with the same proofs.

Needs ``pip install "lambdak[dask]"``, and pandas.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client

import lambdak
from lambdak.dask import SpectralRegressor

rng = np.random.default_rng(0)
rows = 2000
frame = pd.DataFrame(rng.random((rows, 3)), columns=["a", "b", "c"])
frame["y"] = np.sin(6 * frame["a"]) + frame["b"] * frame["c"] + rng.normal(0, 0.1, rows)
table = dd.from_pandas(frame, npartitions=4)  # or dd.read_parquet("s3://...")
columns = ["a", "b", "c"]

# %%
# A cluster of two workers inside this process; give ``Client`` the address of your scheduler instead.
with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
    model = SpectralRegressor(monotonic_cst={"b": 1}, effort="fast", random_state=0)
    model.fit(table[columns], table["y"], timeout=60)
    predicted = model.predict(table[columns])  # a Dask array: nothing is computed yet
    print(type(predicted).__module__, predicted.npartitions, "partitions")
    predicted = predicted.compute()

# %%
# Up to 200,000 rows the model is the one that is fitted in memory, bit for bit:
local = lambdak.SpectralRegressor(monotonic_cst={"b": 1}, effort="fast", random_state=0)
local.fit(frame[columns], frame["y"])
print("same predictions:", bool((predicted == local.predict(frame[columns])).all()))
print("what was requested is proven:", model.certify().holds)

# %%
figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
ax.scatter(predicted, frame["y"], s=5, c=np.arange(rows) * 4 // rows, cmap="viridis")
ax.axline((0, 0), slope=1, color="0.4", linestyle="--")
ax.set(xlabel="prediction", ylabel="observed", title="Four partitions, one colour each")
plt.show()

# %%
# **Caveat.** Both passes over the table compute it: call ``persist()`` before an expensive one. Other partitions give
# another model, which is as good.
#
# **Read on:** :doc:`/guide/many-machines`, and :doc:`/guide/large-tables` for one machine and a table larger than its
# memory.

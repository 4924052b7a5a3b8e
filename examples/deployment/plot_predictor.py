"""
Single rows in a service
========================

*How does a web service answer one row at a time?* ``model.predictor()`` takes a dict and answers in microseconds: no
pandas, no state, any number of threads, and the same bits as ``predict``.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SpectralRegressor(monotonic_cst={"bmi": 1}, effort="fast", random_state=0).fit(X, y)

predictor = model.predictor()
row = X.iloc[0].to_dict()
print(row)
print(f"{predictor(row):.2f}; the same bits as predict: {predictor(row) == model.predict(X[:1])[0]}")
print(f"a missing cell: {predictor(row | {'bmi': None}):.2f}")

# %%
# A wrong row is refused in words that name the column:
for wrong in (row | {"bmi": "high"}, {"age": 59.0}):
    try:
        predictor(wrong)
    except ValueError as error:
        print(error)

# %%
# Four threads share one predictor:
with ThreadPoolExecutor(4) as pool:
    answers = list(pool.map(predictor, X.to_dict(orient="records")))
print("all as predict says:", answers == model.predict(X).tolist())

# %%
# How long does a row take here? A thousand calls of each:


def microseconds(call, argument, times):
    """Seconds of single calls, times a million."""
    taken = np.empty(times)
    for i in range(times):
        start = time.perf_counter()
        call(argument)
        taken[i] = time.perf_counter() - start
    return 1e6 * taken


single, frame = microseconds(predictor, row, 1000), microseconds(model.predict, X[:1], 200)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.boxplot([single, frame], orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.5,
           tick_labels=["predictor(dict)", "predict(DataFrame)"])  # fmt: skip
ax.set(xlabel="microseconds for one row, 5 % to 95 % of the calls", xscale="log", title="One row at a time")
plt.show()

# %%
# **Caveat.** From about a thousand rows on, ``model.predict`` of a table is faster.
#
# **Read on:** :doc:`/guide/serving`; ``examples/service`` in the repository is an HTTP service to copy.

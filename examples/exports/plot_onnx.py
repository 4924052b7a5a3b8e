"""
As ONNX: one file for every runtime
===================================

*Our platform scores ONNX files: does this model fit in?* ``model.export("rent.onnx")`` writes one file of standard
operators, with the columns as inputs by name, and with the influence of each column if you want it.

Needs onnx to write the file, ``pip install "lambdak[onnx]"``, and onnxruntime to run it here.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 600
flats = pd.DataFrame({"area": rng.uniform(30, 200, rows), "district": rng.choice(["north", "south"], rows)})
rent = 9 * flats["area"] + 160 * (flats["district"] == "north") + rng.normal(0, 50, rows)
model = SpectralRegressor(monotonic_cst={"area": 1}, dim=5, effort="fast", random_state=0).fit(flats, rent)

file = Path(tempfile.mkdtemp()) / "rent.onnx"
model.export(file, explain=True)
session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
print("inputs: ", [(own.name, own.type, own.shape) for own in session.get_inputs()])
print("outputs:", [own.name for own in session.get_outputs()])

# %%
# Every column is an input of its name, with one cell per row; NaN and "" are missing.
inputs = {
    "area": flats[["area"]].to_numpy(),
    "district": flats[["district"]].to_numpy(dtype=object),
}
prediction, _, slopes = session.run(None, inputs)
print(f"largest difference from Python: {np.abs(prediction - model.predict(flats)).max():.1e} euros")

# %%
# The third output is what one more square metre costs in each flat:
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for district in ("north", "south"):
    own = (flats["district"] == district).to_numpy()
    ax.scatter(flats["area"][own], slopes[own, 0], s=10, label=district)
ax.set(xlabel="area in m²", ylabel="euros for one more m²", title="The influence of the area, computed by onnxruntime")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** ``dtype="float32"`` makes the file half as large, and predictions good to about four digits. Infinity is
# read as the end of the range, where Python refuses it.
#
# **Read on:** :doc:`/guide/export-onnx`.

"""
Save, load and sign a model
===========================

*How do I give a model away so that others can trust the file?* One file without pickle, in which nothing can run.
Whoever loads it gets the promises proven again, and a signature says who answers for it.

The signature needs ``pip install "lambdak[sign]"``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import lambdak
from lambdak import SpectralRegressor
from lambdak.store import SignatureError, create_keys, sign_file, verify_file

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SpectralRegressor(monotonic_cst={"bmi": 1}, effort="fast", random_state=0).fit(X, y)

folder = Path(tempfile.mkdtemp())
file = folder / "model.safetensors"
model.save(file)
loaded = lambdak.load(file)
print("same predictions, to the last bit:", bool((loaded.predict(X) == model.predict(X)).all()))
print(f"{file.stat().st_size / 1e3:.0f} kB; monotone promises of the file:", loaded.model_.promises.monotone)

# %%
# Sign it with a private key. Whoever has the public one can check that every byte is as it was.
create_keys(folder / "key.pem")  # and key.pub.pem
sign_file(file, folder / "key.pem", "Jane Doe")
signature = verify_file(file, folder / "key.pub.pem")
print("signed by", signature.signer)
lambdak.load(file, public_key=folder / "key.pub.pem").n_features_in_

# %%
# Somebody changes one byte in the middle:
content = bytearray(file.read_bytes())
content[len(content) // 2] ^= 1
file.write_bytes(content)
try:
    verify_file(file, folder / "key.pub.pem")
except SignatureError as error:
    print(str(error).replace(str(folder), "..."))

# %%
# What is in the file: matrices. This is one of them, of the body mass index at its last knot against the first.
column = model.model_.encoder.columns[2]
matrices = model.model_.pencils[0].matrices[column.start : column.stop]
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
step = matrices[-2] - matrices[0]
limit = np.abs(step).max()
shown = ax.imshow(step, cmap="RdBu", vmin=-limit, vmax=limit)
ax.set(title="bmi: the matrix that can only raise", xticks=[], yticks=[])
figure.colorbar(shown, label="entry of the matrix")
plt.show()

# %%
# **Caveat.** The checksum in a file reveals accidents, not intent: only a signature does. The time in it is the
# signer's word.
#
# **Read on:** :doc:`/guide/save-and-load`.

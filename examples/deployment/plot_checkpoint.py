"""
A fit that survives being killed
================================

*What if the machine is taken away in the middle of a fit?* Name a ``checkpoint``. The same call then continues where
it was, and ends with the same model, bit for bit.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from lambdak import SpectralRegressor

folder = Path(tempfile.mkdtemp())

# %%
# A program that is killed after some epochs, as a machine of a cloud may be. The progress of a fit is what
# ``checkpoint_every=0`` saves after every epoch.
PROGRAM = """
import os, threading, time
from sklearn.datasets import load_diabetes
from lambdak import SpectralRegressor

def kill_when_started():
    while not os.path.exists("fit.checkpoint"):
        time.sleep(0.001)
    os._exit(9)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
threading.Thread(target=kill_when_started, daemon=True).start()
SpectralRegressor(effort="fast", random_state=0).fit(X, y, checkpoint="fit.checkpoint", checkpoint_every=0)
"""
killed = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder)
print("exit code", killed.returncode, "- left behind:", [file.name for file in folder.iterdir()])

# %%
# The same call again, here: it continues.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
continued = SpectralRegressor(effort="fast", random_state=0)
continued.fit(X, y, checkpoint=folder / "fit.checkpoint", checkpoint_every=0)
print("left behind:", [file.name for file in folder.iterdir()])

# %%
# And a fit that nobody disturbed:
undisturbed = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
print("same model, bit for bit:", continued.to_json() == undisturbed.to_json())

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot(undisturbed.validation_curve_.mean(axis=1), linewidth=5, alpha=0.4, label="undisturbed")
ax.plot(continued.validation_curve_.mean(axis=1), label="killed and continued")
ax.set(xlabel="epoch", ylabel="validation loss, mean of the members", title="The same fit twice")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** A checkpoint belongs to one call: other rows, settings or another version are refused, with what
# differs. It is removed when the fit has ended, so save the model then.
#
# **Read on:** :doc:`/guide/when-things-break`.

"""
The dossier: papers for the validator
=====================================

*What does a validator want to read before a model goes live?* ``model.dossier`` writes one document with purpose,
data, performance, calibration, guarantees, limits and a monitoring plan. What you do not say is marked as open, never
invented.

Needs ``pip install "lambdak[dossier]"``.
"""

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "bmi", "bp", "s5"]]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)
model = SpectralRegressor(monotonic_cst={"bmi": 1, "bp": 1}, effort="fast", random_state=0).fit(X_train, y_train)

# %%
# Rows that the fit did not see come first; with those of the fit, too, the document checks that they differ. The page
# below is what it wrote; ``dossier.docx`` and ``dossier.md`` would be Word and Markdown.
reports = Path(os.environ.get("LAMBDAK_GALLERY_REPORTS", "."))
model.dossier(
    reports / "dossier.html",
    X_test,
    y_test,
    X_train=X_train,
    y_train=y_train,
    seeds=0,  # 5 fits with other seeds by default, for the section on stability
    search=0,  # rows of the search for counterexamples
    n_resamples=50,
    name="Progression of diabetes",
    purpose="Expected progression within one year, to plan follow-up visits.",
    owner="Clinic for internal medicine",
)

# %%
# Here it is:
#
# .. raw:: html
#
#     <iframe class="lambdak-report" src="../../reports/dossier.html" title="Dossier of a model of diabetes"
#       loading="lazy"></iframe>

# %%
# The same findings as a model card, for a model hub:
card = Path(tempfile.mkdtemp()) / "README.md"
model.model_card(card, X_test, y_test, license="bsd-3-clause", dataset="diabetes", n_resamples=50)
print(card.read_text()[:420], "...")

# %%
# One of the pictures:
model.performance(X_test, y_test, n_resamples=50).calibration().plot()
plt.show()

# %%
# **Caveat.** The document computes what can be computed. Whether the model may be used for its purpose is for people
# to decide and to sign.
#
# **Read on:** :doc:`/guide/dossier`.

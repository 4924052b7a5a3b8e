"""
Predict one of two classes: SpectralClassifier
==============================================

*How probable is it that a tumour is malignant?* The classifier predicts probabilities, and a monotone constraint is
about them: here a larger or more irregular nucleus never makes a tumour look less dangerous.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay, log_loss
from sklearn.model_selection import train_test_split

from lambdak import SpectralClassifier

cancer = load_breast_cancer(as_frame=True)
X = cancer.data[["mean radius", "mean texture", "mean smoothness", "mean concavity", "worst concave points"]]
y = np.where(cancer.target == 0, "malignant", "benign")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = SpectralClassifier(monotonic_cst="increasing", effort="fast", random_state=0).fit(X_train, y_train)
print("classes:", *model.classes_)
print(f"accuracy {model.score(X_test, y_test):.3f}, log-loss {log_loss(y_test, model.predict_proba(X_test)):.3f}")

# %%
# Classes are in alphabetical order, and the sign of a constraint is about the second one, here "malignant". Left: how
# well the probabilities order the test rows. Right: the probability of those five patients about whom the model is
# least certain, as one column changes: no curve falls.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
RocCurveDisplay.from_estimator(model, X_test, y_test, ax=left, plot_chance_level=True)
left.set(title="ROC curve of the test rows", xlabel="benign called malignant", ylabel="malignant called malignant")
concavity = np.linspace(0, 0.4, 200)
unsure = np.argsort(np.abs(model.predict_proba(X_test)[:, 1] - 0.5))[:5]
for row in unsure:
    patient = X_test.iloc[[row] * len(concavity)].assign(**{"mean concavity": concavity})
    right.plot(concavity, model.predict_proba(patient)[:, 1])
right.set(xlabel="mean concavity", ylabel="P(malignant)", ylim=(0, 1), title="The five least certain patients")
plt.show()

# %%
# The model as one HTML file that runs in the browser, with what would change a decision:
reports = Path(os.environ.get("LAMBDAK_GALLERY_REPORTS", "."))
model.report(reports / "tumours.html", X_test, y_test)

# %%
# Here it is. Move the sliders:
#
# .. raw:: html
#
#     <iframe class="lambdak-report" src="../../reports/tumours.html" title="Live report of a model of tumours"
#       loading="lazy"></iframe>

# %%
# **Caveat.** Probabilities are about the patients of this table. Where malignant tumours are rarer, they have to be
# calibrated again.
#
# **Read on:** :doc:`/guide/estimators`; weights of classes are ``class_weight``, as in scikit-learn.

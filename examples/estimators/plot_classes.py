"""
Several classes, one neuron for each
====================================

*Which of three species is it?* With more than two classes :class:`~lambdak.SpectralClassifier` fits one function per
class and a softmax. Nothing has to be set.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from lambdak import SpectralClassifier

iris = load_iris(as_frame=True)
X = iris.data[["petal length (cm)", "petal width (cm)"]]
y = iris.target_names[iris.target]

model = SpectralClassifier(effort="fast", random_state=0)
print(f"accuracy over five folds: {cross_val_score(model, X, y).mean():.3f}")
model.fit(X, y)

# %%
# One row, all probabilities:
pd.DataFrame(model.predict_proba(X.iloc[[70]]), columns=model.classes_).round(3)

# %%
# The shade is the probability of the class that is predicted: it fades where two species meet.
length, width = np.meshgrid(np.linspace(0.8, 7.2, 160), np.linspace(0, 2.7, 120))
grid = pd.DataFrame({X.columns[0]: length.ravel(), X.columns[1]: width.ravel()})
probability = model.predict_proba(grid).reshape(*length.shape, 3)

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
colours = np.array([[0.0, 0.45, 0.7], [0.9, 0.62, 0.0], [0.0, 0.62, 0.45]])
picture = 1 - (1 - probability @ colours) * 0.6
ax.imshow(picture, origin="lower", extent=(0.8, 7.2, 0, 2.7), aspect="auto")
for label, colour in zip(model.classes_, colours, strict=True):
    ax.scatter(*X[y == label].to_numpy().T, color=colour, edgecolor="white", s=30, label=label)
ax.set(xlabel=X.columns[0], ylabel=X.columns[1], title="Three species, and how sure the model is")
ax.legend(loc="upper left")
plt.show()

# %%
# **Caveat.** Three classes without an order have no single raw score that could rise, so ``monotonic_cst`` is refused
# here. If they have an order, use :class:`~lambdak.SpectralOrdinalClassifier`.
#
# **Read on:** :doc:`/guide/estimators`.

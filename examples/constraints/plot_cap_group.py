"""
A cap on a column and its proxies together
==========================================

*How much may sex, and what stands in for it, change a decision?* A cap on sex alone leaves the title free to say the
same. A tuple of columns caps what they can do together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 1500
female = rng.integers(0, 2, rows)
title = np.where(rng.random(rows) < 0.9, female, 1 - female)  # nearly the same as sex
people = pd.DataFrame(
    {
        "sex": np.where(female, "f", "m"),
        "title": np.where(title, "Ms", "Mr"),
        "income": rng.normal(3000, 700, rows),
    }
)
granted = ((people["income"] - 3000) / 700 - 0.8 * female + rng.normal(0, 1, rows) > -0.4).astype(int)

caps = {"no cap": None, "sex: 0.2": {"sex": 0.2}, "(sex, title): 0.2": {("sex", "title"): 0.2}}
models = {
    name: SpectralClassifier(max_influence=cap, effort="fast", random_state=0).fit(people, granted)
    for name, cap in caps.items()
}

# %%
# Every applicant once as Ms, f, and once as Mr, m, with the same income. How far apart are the probabilities?
apart = {}
for name, model in models.items():
    as_man, as_woman = (
        model.predict_proba(people.assign(sex=sex, title=title))[:, 1] for sex, title in (("m", "Mr"), ("f", "Ms"))
    )
    apart[name] = 100 * (as_man - as_woman)
    print(f"{name:<18} {np.abs(apart[name]).max():4.1f} points at most, accuracy {model.score(people, granted):.3f}")

# %%
# The cap on sex alone does little. That on both is a promise of the model, with a proof:
for claim in models["(sex, title): 0.2"].certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.boxplot(list(apart.values()), orientation="horizontal", whis=(0, 100), widths=0.5, tick_labels=list(apart))
ax.axvline(0, color="0.5", linewidth=1)
ax.set(xlabel="P(granted) as a man minus as a woman, in percentage points", title="The same person with another sex")
ax.invert_yaxis()
plt.show()

# %%
# **Caveat.** A cap bounds the columns that you name. Others may carry the same information, a little each. And it
# does not make approval rates equal: see the example on fairness.
#
# **Read on:** :doc:`/guide/fairness`.

"""
Reasons for a decline
=====================

*Why was this applicant declined, and what would have been enough?* ``reasons`` ranks the columns behind each decline
and says which value would have been an approval. That is proven, not tried.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 2000
applicants = pd.DataFrame(
    {
        "utilisation": rng.uniform(0, 100, rows).round(),  # of credit limits, in percent
        "history_years": rng.gamma(2, 4, rows).round(),
        "inquiries": rng.poisson(2, rows),
        "age": rng.integers(18, 75, rows),
    }
)
risk = 0.04 * applicants["utilisation"] - 0.12 * applicants["history_years"] + 0.3 * applicants["inquiries"]
repaid = np.where(risk + rng.normal(size=rows) < 2, "repaid", "default")
model = SpectralClassifier(
    monotonic_cst={"utilisation": -1, "history_years": 1, "inquiries": -1},
    protected_features=["age"],  # what a letter must not name; it still counts
    effort="fast",
    random_state=0,
).fit(applicants, repaid)

found = model.reasons(
    applicants.head(200),
    0.8,
    target="repaid",
    baseline=applicants,  # compared with medians and most frequent levels of the approved
    texts={
        "utilisation": ("R01", "Proportion of balances to limits is too high"),
        "history_years": ("R02", "Length of credit history is too short"),
        "inquiries": ("R03", "Too many recent inquiries"),
    },
)
print(found.why(found.declined[0].row))

# %%
# All declined applicants as a table:
table = found.to_frame()
table[["row", "rank", "code", "value", "needed", "enough"]].head(6)

# %%
# How often is each reason named, and how often would a change of that column alone have been enough?
counts = table.groupby(["code", "enough"]).size().unstack(fill_value=0)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
left = np.zeros(len(counts))
for enough, label in ((True, "enough alone, proven"), (False, "only together with others")):
    size = counts.get(enough, 0)
    ax.barh(counts.index, size, left=left, color="C0" if enough else "0.75", label=label)
    left = left + size
ax.set(xlabel="times that it is named", title=f"Reasons of {len(found.declined)} declined applicants of 200")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** ``exclude`` keeps a column out of the letter, not out of the decision: to do that, cap it. And the
# sentences say what the model would have decided, not what would have become of the loan.
#
# **Read on:** :doc:`/guide/reasons`, :doc:`/guide/fairness`.

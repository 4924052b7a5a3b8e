"""
Complements and substitutes: what one is worth where the other is high
======================================================================

*Is a year of school worth more to somebody with experience?* ``Complements("school", "experience")`` promises that it
is, for everybody; ``Substitutes`` promises the opposite, as for two ways to reach the same customers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(0)
rows = 250
people = pd.DataFrame({"school": rng.uniform(8, 20, rows), "experience": rng.uniform(0, 40, rows)})
wage = 6 + 0.4 * people["school"] + 0.02 * people["school"] * people["experience"] + rng.normal(0, 2.0, rows)

free = SpectralRegressor(effort="fast", random_state=0).fit(people, wage)
known = SpectralRegressor(constraints=[s.Complements("school", "experience")], effort="fast", random_state=0)
known.fit(people, wage)
for claim in known.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)


# %%
# What four more years of school are worth, by experience:
def worth(model, experience):
    more, less = (pd.DataFrame({"school": years, "experience": experience}) for years in (16.0, 12.0))
    return model.predict(more) - model.predict(less)


experience = np.linspace(0, 40, 200)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, model in {"free": free, "Complements": known}.items():
    ax.plot(experience, worth(model, experience), linewidth=2, label=name)
ax.plot(experience, 1.6 + 0.08 * experience, "--", color="black", label="truth")
ax.set(xlabel="years of experience", ylabel="euros an hour", title="What 16 years of school earn more than 12")
ax.legend(frameon=False)
plt.show()

# %%
# Two channels that reach the same people: the more is spent on one, the less a euro on the other brings.
weeks = pd.DataFrame({"tv": rng.uniform(0, 50, rows), "web": rng.uniform(0, 50, rows)})
sales = 40 * np.sqrt(weeks["tv"] + weeks["web"]) + rng.normal(0, 20, rows)
rivals = SpectralRegressor(constraints=[s.Substitutes("tv", "web")], effort="fast", random_state=0).fit(weeks, sales)
print([claim.statement for claim in rivals.certify().claims if claim.requested])

# %%
rivals.explain_global(weeks).plot_pair("tv", "web")
plt.show()

# %%
# **Caveat.** It is about the raw score: what multiplies behind a logarithm adds up before it. Which way the columns go
# is free; the certificate says what was found.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/first-steps`.

"""
Totals that are often zero: the Tweedie loss
============================================

*What does a policy cost in a year?* Most policies cost nothing, a few cost a lot. The Tweedie loss is made for such
totals: no second model, and no zeros to be removed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 5000
policies = pd.DataFrame({"age": rng.integers(18, 85, rows), "power": rng.integers(40, 220, rows)})
frequency = 0.15 * np.exp(1.2 * np.exp((18 - policies["age"]) / 8))
severity = 800 + 9 * policies["power"]
number = rng.poisson(frequency)
total = np.array([rng.gamma(2.0, own / 2.0, n).sum() for own, n in zip(severity, number, strict=True)])
print(f"{(total == 0).mean():.0%} of the policies cost nothing; the mean is {total.mean():.0f} euros")

# %%
# ``power`` lies between 1 (counts, like Poisson) and 2 (amounts, like gamma). 1.5 is the default, and the result
# depends on it little.
model = SpectralRegressor("tweedie", power=1.5, monotonic_cst={"power": 1}, effort="fast", random_state=0)
model.fit(policies, total)

# %%
# The mean cost of the drivers of an age, as observed, as predicted, and as it was drawn:
groups = np.digitize(policies["age"], np.arange(20, 85, 5))
means = pd.DataFrame({
    "age": policies["age"], "observed": total, "predicted": model.predict(policies), "true": frequency * severity,
}).groupby(groups).mean()  # fmt: skip
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(means["age"], means["observed"], "o", color="0.5", label="observed")
ax.plot(means["age"], means["predicted"], label="predicted")
ax.plot(means["age"], means["true"], "--", color="black", label="true mean")
ax.set(xlabel="age of the driver", ylabel="euros a year", ylim=(0, None), title="Mean cost of a policy, by age")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** One model says what a policy costs, not why: with frequency and severity apart, as in the two examples
# before, you see whether young drivers crash more often or more expensively.
#
# **Read on:** :doc:`/guide/estimators`, :doc:`/guide/tariff`.

"""
The bid that wins with 80 percent
=================================

*How much do I have to bid?* The chance to win never falls with the bid, so there is exactly one answer for every
chance. ``inverse`` computes it, to rounding, or says what can be reached at all.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 3000
auctions = pd.DataFrame(
    {
        "bid": rng.uniform(0, 100, rows),
        "hour": rng.uniform(0, 24, rows),
        "site": rng.choice(["news", "games", "mail"], rows),
    }
)
others = 30 + 20 * (auctions["site"] == "news") + 10 * np.sin(auctions["hour"] / 24 * 2 * np.pi)
won = (auctions["bid"] > others + rng.logistic(0, 6, rows)).astype(int)
model = SpectralClassifier(monotonic_cst={"bid": 1}, effort="fast", random_state=0).fit(auctions, won)

slots = pd.DataFrame({"bid": 0.0, "hour": 20.0, "site": ["games", "mail", "news"]})
for _, slot in slots.iterrows():
    answer = model.inverse(slot.to_frame().T, "bid", 0.8)
    print(slot["site"], "-", answer)

# %%
# Checked against the model itself:
bids = [model.inverse(slots.iloc[[i]], "bid", 0.8).value for i in range(3)]
print(model.predict_proba(slots.assign(bid=bids))[:, 1])

# %%
bid = np.linspace(0, 100, 300)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for i, site in enumerate(slots["site"]):
    ax.plot(bid, model.predict_proba(pd.DataFrame({"bid": bid, "hour": 20.0, "site": site}))[:, 1], label=site)
    ax.plot([bids[i], bids[i]], [0, 0.8], color=f"C{i}", linestyle=":")
ax.axhline(0.8, color="0.5", linewidth=1)
ax.set(xlabel="bid in cents", ylabel="P(win)", ylim=(0, 1), title="The bid that wins with 80 %, at 20:00")
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# **Caveat.** ``inverse`` needs a column with ``monotonic_cst``: without it there may be several answers. A column is
# constant beyond its training range, so a chance that is never reached there has no bid.
#
# **Read on:** :doc:`/guide/decide`. ``examples/auction.py`` in the repository learns win curves with a hyper-network.

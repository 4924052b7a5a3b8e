"""
What each column does, and can do
=================================

*What drives this model?* ``explain_global`` answers twice for every column: what it did on the rows you give, and
what it can do to any row at most, which is proven.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from lambdak import SpectralRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = SpectralRegressor(monotonic_cst={"bmi": 1, "bp": 1}, effort="fast", random_state=0).fit(X, y)

explanation = model.explain_global(X)
explanation.plot()
plt.show()

# %%
# An arrow behind a name is a promise: more of it never lowers the prediction. The same as a table:
explanation.to_frame()[["column", "sign", "proven", "observed", "slope_median"]].round(2)

# %%
# One column in detail. The line is the mean over the patients, the grey band holds nine tenths of them, and the blue
# region is what *no* patient can leave.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
explanation["bmi"].plot(axes[0])
explanation["s5"].plot(axes[1])
plt.show()

# %%
# **Caveat.** These are effects in the model, not in the world: a column may stand in for another that is not in the
# table. Changes are those of the raw score; here that is the prediction itself, for a classifier it is the log-odds.
#
# **Read on:** :doc:`/guide/insurance` reads a model of motor insurance in this way.

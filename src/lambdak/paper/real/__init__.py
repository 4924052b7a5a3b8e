"""The studies on HIGGS and Criteo, and the models they compare.

- ``baselines``: The paper's competitors, and a plain reference of our own model, in PyTorch: the only module that
  imports it.
- ``influence``: The study of the influence bound: the reported HIGGS models, trained once more, on the test rows.
- ``learners``: The spectral neurons, on dense rows and on rows with few active ids, and what every model offers.
- ``origin``: Where the rows of a study come from: a file, its cache, and the protocol that prepares them.
- ``protocol``: What is trained on the real data sets: models, sizes, rates, seeds, and the sample counts at which
  they are measured.
- ``ratios``: How much of the bound |f(x + δ e_i) − f(x)| ≤ |δ| ‖A_i‖₂ is used on rows: the ratio of the two sides.
- ``runs``: The paper's studies of HIGGS and Criteo: every run is one Parquet part, so that a stopped study can
  continue.
- ``tightness``: Beyond the paper: what a penalty on Σ_i ‖A_i‖₂ does to the loss on HIGGS and to the tightness of the
  influence bound.
- ``tuning``: From the runs of a real study to the curves of the paper: validation chooses the rate, test data select
  nothing.
"""

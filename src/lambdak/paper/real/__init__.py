"""The studies on HIGGS and Criteo, and the models they compare.

- ``adam``: Adam with PyTorch's defaults and a constant rate, as the paper's models are trained.
- ``baselines``: The paper's competitors, and a plain reference of our own model, in PyTorch: the only module that
  imports it.
- ``dense``: The spectral neuron on dense rows: one matrix product forth, one eigenpair per row, one matrix product
  back.
- ``influence``: The study of the influence bound: the reported HIGGS models, trained once more, on the test rows.
- ``learner``: What every model of the real studies offers, ours and the competitors.
- ``origin``: Where the rows of a study come from: a file, its cache, and the protocol that prepares them.
- ``protocol``: What is trained on the real data sets: models, sizes, rates, seeds, and the sample counts at which
  they are measured.
- ``ratios``: How much of the bound |f(x + δ e_i) − f(x)| ≤ |δ| ‖A_i‖₂ is used on rows: the ratio of the two sides.
- ``runs``: The paper's studies of HIGGS and Criteo: every run is one Parquet part, so that a stopped study can
  continue.
- ``sparse``: The spectral neuron on rows with a few active ids out of a million: a step touches the active rows only.
- ``tightness``: Beyond the paper: what a penalty on Σ_i ‖A_i‖₂ does to the loss on HIGGS and to the tightness of the
  influence bound.
- ``tuning``: From the runs of a real study to the curves of the paper: validation chooses the rate, test data select
  nothing.
"""

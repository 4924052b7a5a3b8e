"""The studies on random functions of one and two inputs.

- ``grid``: The grids of the synthetic studies: which models are trained on which targets, and when they are measured.
- ``laws``: Scaling laws of the test error against dim d and samples n, fitted to the median curves of a study.
- ``results``: The synthetic studies on disk: one part per cell, see :mod:`lambdak.paper.parts`.
- ``selection``: From the errors of all models to the curves of the paper: test data select nothing.
- ``stacks``: Models of one cell, trained at once: the kernel takes the steps, of tridiagonal matrices in O(d) each.
- ``sweep``: One cell of a synthetic study: all its models are trained at once, on fresh random points.
- ``targets``: The random functions of the paper's synthetic studies, many at once: piecewise cubics on [−4, 4] or its
  square.
- ``timing``: What a training sample costs a model: CPU time of one thread, all models of a cell at once.
"""

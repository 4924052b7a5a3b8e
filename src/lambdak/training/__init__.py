"""How models are trained: parameters, optimisers and effort.

Modules: ``fit`` the whole story, stage by stage; ``settings``, ``effort``; ``rows``, ``draft``, ``problem``,
``session``; ``coordinates``, ``whitening``, ``terms`` of members that keep columns apart; ``cones``, ``caps``,
``level_caps``, ``slope_caps``, ``shrink``, ``plan``, ``parameters``; ``trained_columns``, ``high_cardinality``,
``level_curves``, ``level_means`` categories of any size; ``negative_gradient`` what rows want of a model before it is
trained, and which columns interact; ``settling`` what shapes leave to training; ``choice`` what is decided about the
members, with trial models, and ``pilots`` the small models that decide; ``trainer``, ``compiled_loss``, ``members`` the
training of members, ``lbfgs`` its refinement, ``factor`` of all matrices,
``finish`` from members to a model; ``balance`` totals of predictions;
``calibration`` what left-out rows say of distributions;
``checkpoint`` what a killed fit continues from and whose it is, ``checkpoint_file``; ``live_curve`` in a notebook;
``scoring`` metrics by name; ``limits`` what a fit refuses;
``large/`` rows that are not in one memory: ``fit`` the story, ``choice`` what a sample decides, ``targets``,
``shards`` the rows, ``levels`` of categories over all of them, ``transport`` sums over processes, ``trainer`` steps
taken together, and how many.
"""

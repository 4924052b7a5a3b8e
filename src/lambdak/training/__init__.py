"""How models are trained: parameters, optimisers and effort.

Modules: ``fit`` the whole story; ``settings``, ``effort``; ``rows``, ``draft``, ``problem``, ``session``;
``coordinates``, ``whitening``, ``terms`` of members that keep columns apart, ``pairs`` which columns interact,
``cones``, ``caps``, ``level_caps``, ``shrink``, ``plan``, ``parameters``; ``trained_columns``, ``wide_categories``,
``level_curves``, ``level_means``, ``pulls`` categories of any size; ``screening`` columns without effect; ``pilots``,
``trials``, ``ensembles`` what decides about the members; ``trainer``, ``compiled_loss``, ``polish``, ``finish``,
``balance`` totals of predictions; ``checkpoint`` what a killed fit continues from, ``checkpoint_file``,
``fingerprint`` whose it is, ``history`` epochs as arrays, ``live_curve`` in a notebook; ``scoring`` metrics by name;
``limits`` what a fit refuses; ``settle`` promises that hold to the last bit; ``large/`` rows that are not in one
memory: ``fit`` the story, ``choice`` what a sample decides, ``targets``, ``schedule``, ``shards`` the rows,
``levels`` of categories over all of them, ``transport`` sums over processes, ``trainer`` steps taken together,
``members``, ``progress`` laps to continue from.
"""

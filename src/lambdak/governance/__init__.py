"""Governance: what actuaries, credit modellers and validators show about a model, on rows and for every row.

Modules: ``performance/`` metrics with intervals: ``outcome`` what is observed of an output, ``scored`` rows with
exposure, ``measures`` and ``bootstrap`` their intervals, ``lorenz``, ``roc``, ``bands``, ``periods``, ``columns``,
``segments`` actual against expected, ``performance`` the function; ``plots/``: ``canvas`` what they share, ``curves``,
``segments``; ``comparison/`` with another model or a tariff: ``rival`` the other side, ``rate_change``,
``comparison``, ``plots``; ``drift/``: ``stability`` the PSI, ``swaps`` what moves the mean, ``drift``, ``plots``;
``fairness/`` of protected columns: ``flips`` of their levels, ``prediction_bounds`` from raw scores, ``proxies`` by
association, ``groups`` metrics of fairlearn, ``assessing`` the function, ``assessment`` its result, ``plots``;
``tables/`` tariffs and scorecards: ``subject`` the output and the rows, ``factors`` the rows of a table, ``bands``
where bands end, ``layout`` all tables and their parameters, ``profiles`` what a column does on average, ``additive``
the best parameters, ``monotone`` tables that rise, ``two_way`` pairs of columns, ``making`` all of these in order,
``deviation`` the proof, ``factor_table`` a finished table, ``table_set`` what ``relativity`` and ``scorecards``
share, ``cutoffs`` scores and what they separate; ``printed``, ``written``, ``excel``,
``plots``, ``schema.json`` how they look.
"""

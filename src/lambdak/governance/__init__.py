"""Governance: what actuaries, credit modellers and validators show about a model, on rows and for every row.

Modules: ``performance/`` metrics with intervals: ``outcome`` what is observed of an output, ``scored`` rows with
exposure, ``measures`` and ``bootstrap`` their intervals, ``lorenz`` curves of a ranking, ``bands``, ``columns`` and
periods, ``segments`` actual against expected, ``performance`` the function, ``coverage`` of distributions,
``plots``, ``distribution_plots``; ``comparison/`` with another
model or a tariff: ``rival`` the other side, ``rate_change``, ``comparison``; ``drift/``: ``stability`` the PSI and
what moves the mean, ``drift``; ``fairness/`` of protected columns: ``flips`` of their levels and bounds of
predictions, ``groups`` metrics of fairlearn and proxies, ``assessing`` the function, ``assessment`` its result;
``plots`` of these three; ``tables/`` tariffs and scorecards: ``subject`` the output and the rows, ``factors`` the rows
of a table, ``layout`` all tables and their parameters, ``additive`` the best parameters, ``two_way`` pairs of columns,
``making`` bands and all of these in order, ``deviation`` the proof, ``factor_table`` a finished table, ``table_set``
what ``relativity`` and ``scorecards`` share and how it is printed, ``cutoffs`` scores and what they separate;
``written``, ``excel``, ``plots``, ``schema.json`` how they look.
"""

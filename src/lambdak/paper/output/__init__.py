"""Published numbers beside ours: tables and figures.

- ``compare``: Published against ours, cell by cell.
- ``published``: Numbers of the paper: median test RMSE of the synthetic studies, and median test log-loss on HIGGS
  and Criteo.
- ``summary``: A finished study as a small table: the test error of every cell at the largest budget, as Markdown and
  CSV.
- ``tables``: All studies as tables: what every cell or model came to, and the scaling laws, as CSV and Markdown.
"""

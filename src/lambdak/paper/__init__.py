"""Reproducing the paper: its synthetic studies, its data sets and its figures.

Imports go one way: profiles → data → parts → synthetic → real → output.

Modules: ``profiles``; ``protocols`` where text and released runs differ; ``data/`` real files as memory-mapped rows;
``parts`` studies on disk, ``workers`` that end with who began them; ``synthetic/``, ``real/`` studies; ``output/``
tables and figures.
"""

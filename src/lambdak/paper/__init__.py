"""Reproducing the paper: its synthetic studies, its data sets and its figures.

Imports go one way: profiles → data → parts → synthetic → real → output.
"""

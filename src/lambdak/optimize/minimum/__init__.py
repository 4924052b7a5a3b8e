"""Minimise what models predict: problems as users write them, branch and bound, and results."""

"""Explanations as data, and their plots."""

"""Decide with a model: optimise, invert and explain decisions, each with a proven bound."""

"""A fitted model, and what can be read off it."""

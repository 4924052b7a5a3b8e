"""Changes of single rows: the inverse of a column, the cheapest change of a decision, and how far away one is."""

"""The paper again: its synthetic studies, its data sets and its figures."""

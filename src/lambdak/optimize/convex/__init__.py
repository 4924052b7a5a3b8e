"""Convex problems: an interior-point method whose bounds are proofs, and models inside CVXPY."""

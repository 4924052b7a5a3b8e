"""How models are trained: parameters, optimisers and effort."""

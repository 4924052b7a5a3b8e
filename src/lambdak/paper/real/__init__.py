"""The studies on HIGGS and Criteo, and the models they compare."""

"""The lines of weaknesses.py: each measures ours and the named peers on one split, metric by metric."""

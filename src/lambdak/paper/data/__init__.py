"""Real files become memory-mapped rows, whole or not at all."""

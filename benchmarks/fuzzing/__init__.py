"""The targets of benchmarks/fuzz.py: each draws one hostile input, and raises if the library answers in a wrong way."""

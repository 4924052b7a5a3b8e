"""A model behind HTTP, to copy and to change: rows as JSON in, predictions out.

cd examples; python -m service model.safetensors [--help]

    curl -s localhost:8000/predict -d '{"age": 31, "income": 52000, "town": "Bonn"}'    # one row
    curl -s localhost:8000/predict -d '[{"age": 31, …}, {"age": 47, …}]'                # several
    curl -s localhost:8000/model                                                        # which columns it wants

A row is an object from names of columns to cells; null is a missing cell, and keys that the model does not know are
ignored, or refused with --strict. What is wrong with a row is said with status 422 and the name of the column, what is
no JSON with 400, what is too large with 413, what comes too slowly with 408: nothing that a client sends ends in a 500.

``app`` has the routes, ``bodies`` what a request may be, ``answers`` the predictions, ``slot`` the model and how a new
file takes its place, ``metrics`` what Prometheus reads, ``connections`` what slow clients are allowed, ``server`` the
signals, ``logs`` lines of JSON, ``limits`` all numbers in one place.

By default only programs on this machine can connect; in production, put a proxy with TLS and authentication before it.
Needs starlette and uvicorn: pip install 'lambdak[service]'.
"""

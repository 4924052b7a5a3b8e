"""A model behind HTTP: one row or a list of rows as JSON in, predictions out.

usage: python examples/service.py model.safetensors [--host 127.0.0.1] [--port 8000]

    curl -s localhost:8000/predict -d '{"age": 31, "income": 52000, "town": "Bonn"}'    # one row
    curl -s localhost:8000/predict -d '[{"age": 31, …}, {"age": 47, …}]'                # several
    curl -s localhost:8000/health

A row is an object from names of columns to cells; null is a missing cell, and keys that the model does not know are
ignored. What is wrong with a row is said with status 422 and the name of the column, what is no JSON with 400, what is
too large with 413: nothing that a client sends ends in a 500. The predictor is shared by all requests; it takes some
microseconds, so it runs where the request is read, and only long lists go to another thread.

By default only programs on this machine can connect; in production, put a proxy with authentication before it. Needs
starlette and uvicorn: pip install 'lambdak[service]'.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from lambdak import load
from lambdak.model.predictor import Predictor

MOST_BYTES = 4 << 20  # of a request
FEW_ROWS = 32  # up to which other requests may wait for them


def answer(predictor: Predictor, row: Any) -> dict[str, Any]:
    """What is predicted for one row, as JSON has it."""
    found = {"prediction": predictor(row)}
    if predictor.classes:
        found["probabilities"] = {str(label): share for label, share in predictor.predict_proba(row).items()}
    if predictor.quantile_levels:
        levels = map(str, predictor.quantile_levels)
        found["quantiles"] = dict(zip(levels, predictor.predict_quantiles(row), strict=True))
    return found


def answers(predictor: Predictor, rows: list[Any]) -> list[dict[str, Any]]:
    """The same for several rows; an error names the row, counted from zero."""
    if not predictor.classes and not predictor.quantile_levels:
        return [{"prediction": prediction} for prediction in predictor.many(rows)]
    predictor.many(rows)  # says which row is wrong
    return [answer(predictor, row) for row in rows]


async def read_json(request: Request) -> Any:
    """The body of a request, if it is JSON and not too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"the request must have at most {MOST_BYTES} bytes: send fewer rows at a time")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f'the request must be JSON, such as {{"age": 31}}; {error}') from None


def service(predictor: Predictor) -> Starlette:
    """The application that serves a predictor."""

    async def predict(request: Request) -> JSONResponse:
        rows = await read_json(request)
        try:
            if not isinstance(rows, list):
                return JSONResponse(answer(predictor, rows))
            if len(rows) <= FEW_ROWS:
                return JSONResponse(answers(predictor, rows))
            return JSONResponse(await run_in_threadpool(answers, predictor, rows))
        except (TypeError, ValueError) as error:
            raise HTTPException(422, str(error)) from None

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "model": predictor.model.estimator, "columns": predictor.columns})

    async def refused(request: Request, error: Exception) -> JSONResponse:
        status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
        return JSONResponse({"error": detail}, status)

    routes = [Route("/predict", predict, methods=["POST"]), Route("/health", health)]
    return Starlette(routes=routes, exception_handlers={HTTPException: refused})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a file that lambdak fit or model.save wrote")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1: only programs on this machine can connect")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    app = service(load(arguments.model).predictor())
    uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()

"""What Prometheus reads: counters, a histogram of latencies and the model, in its text format.

All of it is changed in the event loop only, so it needs no locks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate

from .slot import ModelSlot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Metrics:
    """Numbers since the start of the process."""

    def __init__(self) -> None:
        self.requests = Counter[tuple[str, str]]()  # by route and status
        self.in_flight = 0
        self.rows = 0
        self.refused_connections = Counter[str]()  # by reason
        self._buckets: dict[str, list[int]] = {}  # by route
        self._seconds = Counter[str]()

    def done(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests[route, str(status)] += 1
        self._buckets.setdefault(route, [0] * (len(_BOUNDS) + 1))[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def text(self, slot: ModelSlot) -> str:
        """All of it, as Prometheus reads it."""
        model = slot.current
        named = {"sha256": model.sha256, "estimator": model.predictor.model.estimator}
        results = [({"result": result}, count) for result, count in slot.reloads.items()]
        requests = [({"route": route, "status": status}, count) for (route, status), count in self.requests.items()]
        closed = [({"reason": reason}, count) for reason, count in self.refused_connections.items()]
        parts = [
            _family("requests_total", "counter", "Requests that were answered", requests),
            self._histogram(),
            _family("requests_in_flight", "gauge", "Requests that are being answered", [({}, self.in_flight)]),
            _family("rows_total", "counter", "Rows that were predicted", [({}, self.rows)]),
            _family("closed_connections_total", "counter", "Connections closed for a limit", closed),
            _family("model_info", "gauge", "The model that answers, by the SHA-256 of its file", [(named, 1)]),
            _family("model_loaded_timestamp_seconds", "gauge", "When it was loaded", [({}, model.loaded)]),
            _family("reloads_total", "counter", "New model files that were taken or refused", results),
            _family("last_reload_failed", "gauge", "Whether the last one was refused", [({}, int(slot.last_failed))]),
        ]
        return "".join(parts)

    def _histogram(self) -> str:
        lines = [*_head("request_seconds", "histogram", "Time from the headers of a request to its whole answer")]
        for route, counts in self._buckets.items():
            for bound, below in zip([*_BOUNDS, "+Inf"], accumulate(counts), strict=True):
                lines.append(_sample("request_seconds_bucket", {"route": route, "le": str(bound)}, below))
            lines.append(_sample("request_seconds_sum", {"route": route}, self._seconds[route]))
            lines.append(_sample("request_seconds_count", {"route": route}, sum(counts)))
        return "".join(lines)


def _family(name: str, kind: str, what: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    return "".join([*_head(name, kind, what), *(_sample(name, labels, value) for labels, value in samples)])


def _head(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP lambdak_{name} {what}.\n", f"# TYPE lambdak_{name} {kind}\n"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"lambdak_{name}{'{' + inside + '}' if inside else ''} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

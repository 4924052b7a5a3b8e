"""What a client may ask for, and how long everything may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes and seconds; each is an option of the command line."""

    max_bytes: int = 4 << 20  # of the body of a request
    max_rows: int = 10_000  # of a request: a tenth of a second of work
    max_depth: int = 8  # of nested brackets in JSON: rows need two
    max_connections: int = 1000  # open at a time; the process needs some 600 open files more
    max_large: int = 50  # requests of more than 64 kB at a time: with max_bytes, this bounds the memory
    max_workers: int = 2  # large requests that are parsed and answered at a time: more would hold up the small ones
    head_seconds: float = 10.0  # until the headers of a request must be there
    body_seconds: float = 20.0  # until its body must be there
    write_seconds: float = 20.0  # until a client must have taken what was sent
    idle_seconds: float = 65.0  # until a connection without requests is closed: longer than most proxies wait
    drain_seconds: float = 5.0  # after SIGTERM, with /ready at 503, until no new connections are accepted
    stop_seconds: float = 30.0  # that requests which have begun may take then

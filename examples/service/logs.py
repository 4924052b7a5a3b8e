"""Log lines as JSON, one object each, on standard error: control characters that clients send are escaped."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

ACCESS = logging.getLogger("service.access")
EVENTS = logging.getLogger("service.events")


class JsonLines(logging.Formatter):
    """Time, level and message, what ``extra={"fields": …}`` adds, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_json(access: bool) -> None:
    """Send all logs to standard error; those of requests only if they are wanted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)
    EVENTS.setLevel(logging.INFO)
    ACCESS.setLevel(logging.INFO if access else logging.ERROR)

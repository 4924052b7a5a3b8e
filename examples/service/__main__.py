"""The command line: python -m service model.safetensors."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

from . import __doc__ as described
from .app import Service
from .connections import allow_open_files
from .limits import Limits
from .logs import log_json
from .server import Server
from .slot import ModelSlot

_TOKEN = "SERVICE_RELOAD_TOKEN"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "service", description=described, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a file that lambdak fit or model.save wrote")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1: only programs on this machine can connect")
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free; the log says which")
    parser.add_argument("--public-key", type=Path, help="PEM file: refuse models that are not signed with this key")
    parser.add_argument("--watch", type=float, default=0.0, metavar="SECONDS", help="look for a new file this often")
    parser.add_argument("--any-form", action="store_true", help="take new models with other columns or classes, too")
    parser.add_argument("--strict", action="store_true", help="refuse columns that the model does not know")
    parser.add_argument("--access-log", action="store_true", help="log every request")
    for limit in fields(Limits):
        kind = type(limit.default)
        parser.add_argument(
            f"--{limit.name.replace('_', '-')}", type=kind, default=limit.default, help="default: %(default)s"
        )
    return parser.parse_args()


def main() -> None:
    given = arguments()
    log_json(given.access_log)
    limits = Limits(**{limit.name: getattr(given, limit.name) for limit in fields(Limits)})
    try:
        allow_open_files(limits)
        slot = ModelSlot(given.model, given.public_key, given.any_form)
    except (OSError, ValueError, ImportError) as error:
        sys.exit(f"{given.model} cannot be served: {error}")
    token = os.environ.get(_TOKEN) or None  # not an option: those are in the list of processes
    Server(Service(slot, limits, given.strict, token, given.watch), given.host, given.port).run()


if __name__ == "__main__":
    main()

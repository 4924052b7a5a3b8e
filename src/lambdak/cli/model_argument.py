"""The model file of a command, given by its place or with ``--model``: every command takes both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from lambdak.cli.options import DEFAULT_MODEL

_NAMES = ("--model", "-m")


class ModelCommand(TyperCommand):
    """A command that reads a model."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, with the model file wherever the command looks for it."""
        if any("--model" in own.opts for own in self.params):
            takes_place = any(own.param_type_name == "argument" and own.name == "file" for own in self.params)
            args = args if takes_place else named(args, self._valued())
        elif any(own.param_type_name == "argument" and own.name == "model" for own in self.params):
            args = placed(args)
        return list(super().parse_args(ctx, args))

    def _valued(self) -> set[str]:
        """Options that take a value."""
        options = [own for own in self.params if own.param_type_name == "option" and not getattr(own, "is_flag", False)]
        return {name for own in options for name in own.opts}


def named(args: Sequence[str], valued: set[str]) -> list[str]:
    """Arguments in which a model file that has no option before it is one of ``--model``.

    >>> named(["patients.csv", "model.safetensors", "--out", "copy.safetensors"], {"--out", "--model"})
    ['patients.csv', '--out', 'copy.safetensors', '--model', 'model.safetensors']
    """
    before = [None, *args]
    loose = [
        not arg.startswith("-") and Path(arg).suffix == DEFAULT_MODEL.suffix and last not in valued
        for last, arg in zip(before, args, strict=False)
    ]
    files = [arg for arg, is_loose in zip(args, loose, strict=True) if is_loose]
    given = [*files, *(f"--model {args[i + 1]}" for i, arg in enumerate(args[:-1]) if arg in _NAMES)]
    if files and len(given) > 1:
        raise typer.BadParameter(f"give the model file once; got {' and '.join(given)}", param_hint="MODEL")
    kept = [arg for arg, is_loose in zip(args, loose, strict=True) if not is_loose]
    return [*kept, *(("--model", files[0]) if files else ())]


def placed(args: Sequence[str]) -> list[str]:
    """Arguments in which the model file stands alone, without ``--model``.

    >>> placed(["--key", "me.pem", "--model", "model.safetensors"])
    ['--key', 'me.pem', 'model.safetensors']
    """
    kept = [arg for i, arg in enumerate(args) if not (arg in _NAMES and i + 1 < len(args))]
    return [arg.removeprefix("--model=") for arg in kept]

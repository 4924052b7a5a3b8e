"""Run `pip install` and say in one short line what it is doing; if it fails, show everything it said.

usage: python .ci/install.py [pip's arguments] @plot @docs ...
`@name` stands for the requirements that pyproject.toml lists under that name: @build, @dependencies or an extra.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
NEWS = re.compile(
    r"^\s*(?:(?:Downloading|Using cached|Processing)\s+(?:\S*/)?(?P<file>[^/\s]+\.whl)(?P<size> \([\d.]+ \w+\))?(?!\S)"
    r"|(?P<step>\[\d+/\d+\]) .*?(?P<part>[\w-]+)\.dir/(?:\S*/)?(?P<source>[^/\s]+\.cpp)\.o$"
    r"|Installing collected packages: (?P<packages>.*))"
)


def requirements() -> dict[str, list[str]]:
    """The lists of pyproject.toml, by name; the compiler's own tools come as packages too."""
    settings = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    project, build = settings["project"], settings["build-system"]["requires"]
    own = {"build": [*build, "cmake", "ninja"], "dependencies": project["dependencies"]}
    return own | project["optional-dependencies"]


def expanded(arguments: Iterable[str]) -> Iterator[str]:
    """The arguments, with each @name replaced by its requirements."""
    lists = requirements()
    for argument in arguments:
        yield from lists[argument[1:]] if argument.startswith("@") else [argument]


def news(line: str) -> str | None:
    """What a line of pip's says to a person who waits, if anything."""
    if not (found := NEWS.match(line)):
        return None
    if found["packages"]:
        names = found["packages"].split(", ")
        return f"unpacking {len(names)} packages" if len(names) > 1 else f"unpacking {names[0]}"
    if found["step"]:
        return f"{found['step']} {found['part']}/{found['source']}"
    name, version = found["file"].split("-")[:2]
    return f"{name} {version}{found['size'] or ''}"


def main() -> int:
    """Run pip, and return its exit code."""
    command = [*PIP, *expanded(sys.argv[1:])]
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            said.append(line)
            if shown := news(line):
                print("   ", shown, flush=True)
    if pip.returncode:
        sys.stderr.writelines(said)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())

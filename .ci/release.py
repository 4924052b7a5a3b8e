"""Check that a version can be released, or tag it: `python .ci/release.py check`, `python .ci/release.py tag`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def git(*arguments: str) -> str:
    """What git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def version() -> str:
    """The version in pyproject.toml."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def complaints(wanted: str, changes: str, citation: str, tags: list[str], status: str) -> list[str]:
    """Why this version cannot be released, from the texts of changelog and citation and what git says."""
    heading = re.search(r"^## (.*)$", changes, re.MULTILINE)
    cited = re.search(r"^version: *\"?([^\"\n]+)\"?$", citation, re.MULTILINE)
    newest = heading[1] if heading else "nothing"
    return [
        *([] if re.fullmatch(r"\d+\.\d+\.\d+", wanted) else [f"version must be like 0.1.0; got {wanted}"]),
        *([] if re.fullmatch(rf"{re.escape(wanted)}, \d{{4}}-\d\d-\d\d", newest) else [
            f'CHANGELOG.md must begin with "## {wanted}, YYYY-MM-DD"; it begins with "{newest}"'
        ]),
        *([] if cited and cited[1] == wanted else [f"CITATION.cff must name version {wanted}"]),
        *([f"v{wanted} has a tag: raise the version in pyproject.toml"] if f"v{wanted}" in tags else []),
        *(["the tree has changes that are not committed"] if status else []),
    ]  # fmt: skip


def main(command: str) -> int:
    """Print what is wrong, or tag the version; return whether anything is wrong."""
    wanted = version()
    texts = [(ROOT / name).read_text() for name in ("CHANGELOG.md", "CITATION.cff")]
    found = complaints(wanted, *texts, git("tag").split(), git("status", "--porcelain"))
    print(*found, sep="\n", end="\n" * bool(found))
    if command == "tag" and not found:
        git("tag", "-a", f"v{wanted}", "-m", f"Version {wanted}")
        print(f"tagged v{wanted}; wheel and source archive are in dist/")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

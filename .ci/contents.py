"""Check what a wheel and a source archive hold: `python .ci/contents.py lambdak.whl lambdak.tar.gz`."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
NATIVE = "lambdak/eigen/native/"
KERNEL = re.compile(r"lambdak/eigen/_kernel\.\S*(so|pyd)")
BUILT = re.compile(r"\.(so|pyd|o|pyc)$|^(build|dist|site|\.venv|lambdak-demo)/")
ARCHIVE = ("CMakeLists.txt", "LICENSE", "Makefile", "PKG-INFO", "README.md", "pyproject.toml")


def sources() -> list[str]:
    """Files of the package in this tree, as they are named inside it."""
    files = (ROOT / "src").rglob("*")
    found = [path.relative_to(ROOT / "src").as_posix() for path in files if path.is_file()]
    return [name for name in found if not BUILT.search(name)]


def complaints_wheel(names: Iterable[str]) -> list[str]:
    """What is wrong with the names in a wheel: the package without its C++ sources, and one kernel."""
    names = set(names)
    wanted = [name for name in sources() if not name.startswith(NATIVE)]
    kernels = [name for name in names if KERNEL.fullmatch(name)]
    return [
        *(f"the wheel misses {name}" for name in wanted if name not in names),
        *(f"the wheel has C++ sources: {name}" for name in sorted(names) if name.startswith(NATIVE)),
        *([] if len(kernels) == 1 else [f"the wheel must have one kernel; found {kernels}"]),
        *([] if any(name.endswith("licenses/LICENSE") for name in names) else ["the wheel misses LICENSE"]),
    ]


def complaints_archive(names: Iterable[str]) -> list[str]:
    """What is wrong with the names in a source archive: all that a build reads, and nothing that was built."""
    names = {name.partition("/")[2] for name in names}
    wanted = [*ARCHIVE, *(f"src/{name}" for name in sources())]
    return [
        *(f"the archive misses {name}" for name in wanted if name not in names),
        *(f"the archive has what was built: {name}" for name in sorted(names) if BUILT.search(name)),
    ]


def main(wheel: str, archive: str) -> int:
    """Print what is wrong, and return whether anything is."""
    with zipfile.ZipFile(wheel) as files, tarfile.open(archive) as tar:
        inside, packed = files.namelist(), tar.getnames()
    print(f"    {len(inside)} files in {Path(wheel).name}, {len(packed)} in {Path(archive).name}")
    found = complaints_wheel(inside) + complaints_archive(packed)
    print(*found, sep="\n", end="\n" * bool(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

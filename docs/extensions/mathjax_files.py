"""MathJax in the built site: the script and its fonts, and none of the package's other 20 MB."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

PACKAGE = "sphinx-mathjax-offline"  # a name that cannot be imported by a statement
FILES = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def _folder() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed: pip install {PACKAGE}")
    return Path(found.origin).parent / "static" / "mathjax"


def _copy(app, failure: Exception | None) -> None:
    """Copy what pages load beside the other static files."""
    if failure is not None or app.builder.format != "html":
        return
    for name in FILES:
        source, target = _folder() / name, Path(app.outdir) / "_static" / "mathjax" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def setup(app) -> dict[str, bool]:
    """Point Sphinx to the copy; the menu of a formula is off, because it would load more."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.config.mathjax3_config = {
        "options": {"enableMenu": False},
        "tex": {"inlineMath": [["\\(", "\\)"]], "displayMath": [["\\[", "\\]"]]},
    }
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

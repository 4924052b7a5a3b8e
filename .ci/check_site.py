"""Check the built documentation without a network: `python .ci/check_site.py site [--without-gallery]`.

Every internal link and anchor leads somewhere, nothing is loaded from elsewhere, and the API pages have every public
name and every method of the estimators. Reports are written by the gallery's scripts, so they may be missing where
these did not run.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
LOADING = {"stylesheet", "preload", "icon", "modulepreload"}  # relations of <link> that make a browser load something
PACKAGES = ("lambdak", "lambdak.torch", "lambdak.jax", "lambdak.optimize", "lambdak.pencil", "lambdak.eigen")
ESTIMATORS = (
    "SpectralRegressor", "SpectralQuantileRegressor", "SpectralClassifier", "SpectralOrdinalClassifier",
)  # fmt: skip


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in LOADED and LOADED[tag] in values and (tag != "link" or LOADING & set(values["rel"].split())):
            self.loads.append(values[LOADED[tag]])


def broken_links(site: Path, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Links and files of all pages that lead nowhere, or to another machine."""
    files = [path for path in sorted(site.rglob("*.html")) if _is_page(path, site)]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for target in page.loads:
            if urlsplit(target).netloc:
                yield f"{name} loads {target}: everything must be in the site"
        for target in dict.fromkeys([*page.links, *page.loads]):
            if (complaint := _leads(target, path, site, pages)) and not _is_within(target, path, site, without):
                yield f"{name}: {complaint}"


def _is_page(path: Path, site: Path) -> bool:
    """Whether a page is ours: reports are pages of their own, and static files belong to the theme."""
    return path.relative_to(site).parts[0] not in ("reports", "_static")


def _is_within(target: str, path: Path, site: Path, folders: tuple[str, ...]) -> bool:
    file = (path.parent / unquote(urlsplit(target).path)).resolve()
    return any(file.is_relative_to((site / folder).resolve()) for folder in folders)


def _leads(target: str, path: Path, site: Path, pages: dict[Path, Page]) -> str:
    """What is wrong with a link; empty if nothing is, or if it leads to another site."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    file = path if not parts.path else Path(str((path.parent / unquote(parts.path)).resolve()))
    file = file / "index.html" if file.is_dir() else file
    if not file.is_file():
        return f"{target} is not in the site"
    known = pages.get(file) or pages.get(site / file.relative_to(site.resolve())) if parts.fragment else None
    if known is not None and unquote(parts.fragment) not in known.anchors:
        return f"{target} has no such anchor"
    return ""


def undocumented(site: Path) -> list[str]:
    """Public names and methods of the estimators that no page of the API has."""
    import importlib

    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", lambda base, uri: uri)
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    wanted = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        public = getattr(module, "__all__", ())
        kinds = {name: getattr(module, name) for name in public}
        wanted += [
            f"{package}.{name}" for name, kind in kinds.items() if inspect.isclass(kind) or inspect.isroutine(kind)
        ]
    for name in ESTIMATORS:
        wanted += [f"lambdak.{name}.{method}" for method in _methods(getattr(importlib.import_module("lambdak"), name))]
    return [name for name in wanted if not _is_known(name, known)]


def _is_known(name: str, known: set[str]) -> bool:
    """Whether a name, or the same object under the package above, has an entry."""
    package, _, last = name.rpartition(".")
    return name in known or f"{package.rpartition('.')[0]}.{last}" in known


def _methods(estimator: type) -> list[str]:
    """Public methods and properties, but for those by which scikit-learn routes metadata."""
    ours = [cls for cls in estimator.__mro__ if cls.__module__.startswith("lambdak")]
    members = [item for cls in ours for item in vars(cls).items()]
    names = {name for name, value in members if callable(value) or isinstance(value, property)}
    return sorted(name for name in names if not name.startswith("_") and not name.endswith("_request"))


def main() -> int:
    """Print what is wrong, and return whether anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--without-gallery", action="store_true", help="the scripts did not run: no reports")
    arguments = parser.parse_args()
    without = ("reports",) if arguments.without_gallery else ()
    complaints = [*broken_links(arguments.site, without)]
    complaints += [f"the API pages lack {name}" for name in undocumented(arguments.site)]
    print(*complaints, sep="\n", end="\n" * bool(complaints))
    if not complaints:
        print(f"    {len(list(arguments.site.rglob('*.html')))} pages: all links, anchors and public names are there")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())

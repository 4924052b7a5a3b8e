"""A name for what folds a part of the sidebar: the theme gives it an arrow only, and a screen reader reads none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

AFTER_THE_THEME = 900  # its own handlers have Sphinx's default priority, 500


def name_folds_(soup: Any) -> None:
    """Call each fold without text after the link beside it: "Pages of Constraints"."""
    for fold in soup.select("li > details > summary"):
        link = fold.find_parent("li").find("a")
        if link is not None and not fold.get_text(strip=True):
            fold["aria-label"] = f"Pages of {link.get_text(strip=True)}"


def _with_names(sidebar: Callable[..., Any]) -> Callable[..., Any]:
    def named(*args: Any, **settings: Any) -> Any:
        soup = sidebar(*args, **settings)
        if hasattr(soup, "select"):  # a page without a sidebar gets an empty text
            name_folds_(soup)
        return soup

    return named


def _wrap(app: object, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if "generate_toctree_html" in context:
        context["generate_toctree_html"] = _with_names(context["generate_toctree_html"])


def setup(app) -> dict[str, bool]:
    """Wrap the theme's function that writes the sidebar."""
    app.connect("html-page-context", _wrap, priority=AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

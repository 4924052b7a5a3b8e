"""Pictures of a dossier, as PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lambdak.explain import ColumnEffect, GlobalExplanation
    from lambdak.governance.performance import Performance


def _plots() -> Any:
    """What draws; an error if that is not installed."""
    try:
        from lambdak.explain import plots
    except ImportError as error:
        raise ImportError("a dossier draws with matplotlib: pip install 'lambdak[dossier]'") from error
    return plots


def check_pictures() -> None:
    """Say now, and not after all computations, that nothing can be drawn."""
    _plots()


def effect_png(effect: ColumnEffect) -> bytes:
    """What one column does."""
    plots = _plots()
    return bytes(plots.png(plots.draw_effect(effect)))


def strengths_png(explanation: GlobalExplanation) -> bytes:
    """What the columns can do, and what they did."""
    plots = _plots()
    return bytes(plots.png(plots.draw_strengths(explanation)))


def drawn_png(ax: Any) -> bytes:
    """What was drawn on Axes."""
    return bytes(_plots().png(ax))


def curve_png(performance: Performance, what: str) -> bytes:
    """The calibration, the lift, the Lorenz curve or the ROC curve of what is predicted."""
    return drawn_png(getattr(performance, what)().plot())

"""What is added to the raw score of a row: an offset, or the logarithm of an exposure where the link is log."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from lambdak.losses import LOG, Loss
from lambdak.table.rows import log_exposure, optional_rows


def check_offset(loss: Loss, name: str = "offset") -> None:
    """Refuse an offset where the loss has none, with the way out."""
    if loss.no_offset:
        raise ValueError(f"{name} cannot be given with loss={loss.name!r} of several outputs: {loss.no_offset}")


def check_exposure(loss: Loss, offset: Any = None, name: str = "exposure") -> None:
    """Refuse an exposure beside an offset, and where the link is not log."""
    other = name.replace("exposure", "offset")
    if offset is not None:
        raise ValueError(
            f"{name} and {other} must not both be given, as an exposure is an offset of its logarithm: give "
            f"{other}={other} + np.log({name})"
        )
    if loss.link is not LOG:
        raise ValueError(
            f"{name} needs a loss with a log link, which are 'poisson', 'gamma' and 'tweedie'; got {loss.name!r}: "
            f"divide y by it and give it as sample_weight, or give {other}"
        )


def row_offset(
    loss: Loss, offset: ArrayLike | None, exposure: ArrayLike | None, rows: int | None = None, suffix: str = ""
) -> Any:
    """The offset of each row, from one of both; None if neither is given. An offset is checked if ``rows`` are known.

    ``suffix`` is what the names of both end with, for errors.
    """
    if exposure is not None:
        check_exposure(loss, offset, f"exposure{suffix}")
        return log_exposure(exposure, rows, f"exposure{suffix}")
    if offset is not None:
        check_offset(loss, f"offset{suffix}")
    return offset if rows is None else optional_rows(offset, rows, f"offset{suffix}")

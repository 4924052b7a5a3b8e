"""What a fitted model can tell about itself, and how it is kept: one method each, the work is done above."""

from __future__ import annotations

from lambdak.fitted import FittedModel


class ReadableModel(FittedModel):
    """A fitted model that can be read: what is said of it is computed from its matrices alone."""

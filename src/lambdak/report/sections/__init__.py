"""Findings in words: one file per topic, at the depth of a page, of a dossier, or of both.

A file has a function ``page`` or ``dossier`` (or several with names of their own) that turns findings into a section,
and a line below, in the order of reading. What a section of a page draws is in ``page/sections/<key>.js``.

- ``front``: the first page of a dossier, with its purpose, and the top of a page.
- ``data``: the rows that the document speaks of, and those that the model was fitted to, as far as they are known.
- ``method``: what kind of model it is, in plain words, and all settings of its fit.
- ``performance``: how well the model does, on which rows, and whether predictions are as high as what was observed.
- ``guarantees``: what is proven, and how to check it.
- ``behaviour``: which columns matter, how, and which act together.
- ``limits``: where not to trust the model: outside of what training saw, where nothing is proven, where it does worst.
- ``monitoring``: what to watch once the model is in use: proposals with numbers, for the owner to decide about.
- ``reproduction``: how to compute the figures again, with which versions, and how much the model depends on its seed.
- ``supervision``: which rules ask for what, as of which day, and where a dossier has it.
- ``words``: what the words mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lambdak.report.document import Section
from lambdak.report.findings import Findings
from lambdak.report.sections import (
    behaviour,
    data,
    front,
    guarantees,
    limits,
    method,
    monitoring,
    performance,
    reproduction,
    words,
)

Build = Callable[[Findings], Section]


@dataclass(frozen=True)
class PageSection:
    """A section of a page: what is written of it, under a link, and whether a script of its key draws in it.

    One that is not written is left to its script, heading and link too.
    """

    key: str
    link: str = ""
    build: Build | None = None
    script: bool = False


PAGE = (
    PageSection("try", script=True),
    PageSection("decision", script=True),
    PageSection("certificate", "Guarantees", guarantees.page),
    PageSection("performance", "Performance", performance.page, script=True),
    PageSection("importance", "Importance", behaviour.importance, script=True),
    PageSection("effects", "Effects", behaviour.effects, script=True),
    PageSection("interactions", "Interactions", behaviour.interactions, script=True),
    PageSection("data", "Data", data.page),
    PageSection("matrices", script=True),
    PageSection("reading", "How to read this page", words.page),
)

DOSSIER: tuple[Build, ...] = (
    front.purpose, data.dossier, method.dossier, method.parameters, performance.dossier, performance.calibration,
    reproduction.stability, guarantees.dossier, behaviour.dossier, limits.dossier, monitoring.dossier,
    reproduction.dossier, reproduction.versions,
)  # fmt: skip

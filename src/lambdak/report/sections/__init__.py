"""The sections of a dossier, in the order in which validators read: each turns findings into words.

- ``behaviour``: What the model does: which columns matter, how, and which act together.
- ``calibration``: Whether predictions are as high as what was observed, as a whole and from low predictions to high
  ones.
- ``data``: The rows that the document speaks of, and those that the model was fitted to, as far as they are known.
- ``front``: The first page and the appendix.
- ``guarantees``: What is proven, and how to check it.
- ``limits``: Where not to trust the model: outside of what training saw, where nothing is proven, and where it does
  worst.
- ``method``: What kind of model it is, in plain words; the formula is one line behind a fold.
- ``monitoring``: What to watch once the model is in use: proposals with numbers, for the owner to decide about.
- ``parameters``: All settings of the fit, as they were set, and what was made of those that were left to the library.
- ``performance``: How well the model does, and on which rows.
- ``purpose``: What the model is for: only its owner can say.
- ``reproduction``: How to compute the figures of the document again, starting from the model's file and the table.
- ``stability``: How much the model depends on its seed.
- ``versions``: What the figures were computed with, and who signed the model's file.
"""

from __future__ import annotations

from collections.abc import Callable

from lambdak.report.document import Section
from lambdak.report.findings import Findings
from lambdak.report.sections.behaviour import behaviour
from lambdak.report.sections.calibration import calibration
from lambdak.report.sections.data import data
from lambdak.report.sections.guarantees import guarantees
from lambdak.report.sections.limits import limits
from lambdak.report.sections.method import method
from lambdak.report.sections.monitoring import monitoring
from lambdak.report.sections.parameters import parameters
from lambdak.report.sections.performance import performance
from lambdak.report.sections.purpose import purpose
from lambdak.report.sections.reproduction import reproduction
from lambdak.report.sections.stability import stability
from lambdak.report.sections.versions import versions

SECTIONS: tuple[Callable[[Findings], Section], ...] = (
    purpose, data, method, parameters, performance, calibration, stability, guarantees, behaviour, limits, monitoring,
    reproduction, versions,
)  # fmt: skip

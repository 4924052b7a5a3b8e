"""The sections of a dossier, in the order in which validators read: each turns findings into words."""

from __future__ import annotations

from collections.abc import Callable

from lambdak.report.dossier.document import Section
from lambdak.report.dossier.findings import Findings
from lambdak.report.dossier.sections.behaviour import behaviour
from lambdak.report.dossier.sections.calibration import calibration
from lambdak.report.dossier.sections.data import data
from lambdak.report.dossier.sections.guarantees import guarantees
from lambdak.report.dossier.sections.limits import limits
from lambdak.report.dossier.sections.method import method
from lambdak.report.dossier.sections.monitoring import monitoring
from lambdak.report.dossier.sections.parameters import parameters
from lambdak.report.dossier.sections.performance import performance
from lambdak.report.dossier.sections.purpose import purpose
from lambdak.report.dossier.sections.reproduction import reproduction
from lambdak.report.dossier.sections.stability import stability
from lambdak.report.dossier.sections.versions import versions

SECTIONS: tuple[Callable[[Findings], Section], ...] = (
    purpose, data, method, parameters, performance, calibration, stability, guarantees, behaviour, limits, monitoring,
    reproduction, versions,
)  # fmt: skip

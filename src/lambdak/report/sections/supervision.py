"""Where a dossier has what supervisors ask for: the one place that names rules, with the day on which they were read.

To update it, change ``AS_OF`` and ``RULES``; sections are named by their numbers in the dossier. None of it is legal
advice, and the document says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from lambdak.report.document import Block, Heading, Note, Paragraph, Table

AS_OF = "19 November 2026"
NOT_ADVICE = (
    f"As of {AS_OF}, as far as the authors of the library know. This is not legal advice: whether and how a rule "
    "applies to this model is for its owner to find out, and filling a section does not by itself meet a rule."
)
_ELSEWHERE = "not in this document"


@dataclass(frozen=True)
class Rule:
    """What a supervisor asks for.

    Attributes
    ----------
    name : str
    status : str
        What it is, for whom, and since when.
    topics : tuple of pairs of str
        What it asks for, and the numbers of the sections that say something about it.
    """

    name: str
    status: str
    topics: tuple[tuple[str, str], ...]


_MODEL_RISK = Rule(
    "Model risk management of banks in the United States: Fed SR 26-2, OCC Bulletin 2026-13, FDIC FIL-15-2026",
    "Issued on 17 April 2026, when SR 11-7 and OCC Bulletin 2011-12 were rescinded. Principles instead of a list of "
    "duties, in a depth that follows the materiality of the model; most relevant to organisations with more than 30 "
    "billion dollars of total assets. Generative and agentic AI are outside of its scope.",
    (
        ("Purpose, use, ownership, materiality", "1"),
        ("Development: data and their suitability", "2"),
        ("Development: conceptual soundness, assumptions, limits", "3, 8, 10"),
        ("Development: settings and choices", "4"),
        ("Validation: outcomes analysis (accuracy, discrimination, calibration)", "5, 6, 10"),
        ("Validation: sensitivity and stability", "7, 8, 9"),
        ("Validation: effective challenge by somebody independent", "1 and the sign-off on the first page"),
        ("Explanation of results", "9"),
        ("Limitations and compensating controls", "10, 11"),
        ("Ongoing monitoring", "11"),
        ("Replication, version control", "12, 13"),
        ("Inventory of models, governance, internal audit", _ELSEWHERE),
    ),
)
_AI_ACT = Rule(
    "Technical documentation of high-risk AI systems: Regulation (EU) 2024/1689 (AI Act), Annex IV",
    "Annex III, point 5, names the assessment of creditworthiness and credit scores of natural persons, and the "
    "assessment of risks and pricing in life and health insurance. Obligations for systems of Annex III apply from 2 "
    "December 2027, as the Digital Omnibus, adopted on 29 June 2026, has it; before, it was 2 August 2026.",
    (
        ("1 General description: intended purpose, provider, version", "1, 13"),
        ("2 Elements and development: design, data, training, validation, testing", "2, 3, 4, 5, 6, 7"),
        ("3 Monitoring, functioning and control: capabilities, limits, accuracy, risks", "5, 8, 9, 10"),
        ("4 Why the performance metrics are appropriate", "5, 6"),
        ("5 Risk management system (Article 9)", _ELSEWHERE),
        ("6 Changes through the life cycle", "13; what changed is for the owner to say"),
        ("7 Harmonised standards that were applied", _ELSEWHERE),
        ("8 EU declaration of conformity", _ELSEWHERE),
        ("9 Monitoring after it is placed on the market (Article 72)", "11, a proposal"),
    ),
)
_REASONS = Rule(
    "Letters to declined applicants in the United States: Regulation B, 12 CFR 1002.9(b)(2)",
    "A statement of reasons must be specific and name the principal reasons of the decision, whichever model made it.",
    (
        ("Specific reasons of each decision", f"{_ELSEWHERE}: model.reasons writes them, applicant by applicant"),
        ("Columns that no letter names, and directions that are promised", "4, 8"),
        ("What the columns do", "9"),
    ),
)
_TARIFF = Rule(
    "A tariff filing with an insurance supervisor",
    "What is asked for differs from state to state and from line to line. In the United States the white paper of the "
    "NAIC on the regulatory review of predictive models lists what reviewers may want to know.",
    (
        ("Purpose and scope of the model", "1"),
        ("Data: sources, period, exclusions, adjustments", "2"),
        ("Type of model, target, link, weights and exposure", "3, 4"),
        (
            "Rating variables, and what each does to the premium",
            f"8, 9; factor tables: {_ELSEWHERE}, model.relativities",
        ),
        ("Interactions", "9"),
        ("Validation on rows that the fit did not see: lift, Gini, actual and expected", "5, 6"),
        ("Stability of factors", "7"),
        ("Effects on policyholders, unfair discrimination", f"{_ELSEWHERE}: model.fairness, model.compare"),
        ("Reproduction", "12, 13"),
    ),
)
RULES = (_MODEL_RISK, _AI_ACT, _REASONS, _TARIFF)


def blocks() -> tuple[Block, ...]:
    """Return each rule with what it asks for and where that is, under the day on which it was read."""
    found: list[Block] = [Heading("Where topics of supervisors are"), Note(NOT_ADVICE, "open")]
    for rule in RULES:
        found += [Paragraph(rule.status), Table(rule.name, ("Topic", "Section"), rule.topics, left=(0, 1))]
    return tuple(found)

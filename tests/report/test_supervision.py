"""A dossier says where supervisors find what they ask for, as of which day, and that it is no legal advice."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from dossier_cases import X_TEST, Y_TEST, fitted

import lambdak
from lambdak.report.sections import DOSSIER
from lambdak.report.sections.supervision import AS_OF, NOT_ADVICE, RULES

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "dossier.md"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("supervision") / "dossier.md"
    return fitted().dossier(path, X_TEST, Y_TEST, search=0, n_resamples=0).read_text(encoding="utf-8")


def test_every_topic_names_sections_that_the_dossier_has_or_says_that_it_has_none():
    for rule in RULES:
        for topic, where in rule.topics:
            numbers = [int(number) for number in re.findall(r"\d+", where)]
            assert numbers or where.startswith("not in this document"), topic
            assert all(1 <= number <= len(DOSSIER) for number in numbers), topic


def test_sections_are_those_that_the_topics_mean(text):
    titles = dict(re.findall(r"^## (\d+)\. (.+)$", text, re.MULTILINE))
    meant = {"Ongoing monitoring": "Monitoring", "Purpose and scope": "Purpose", "Reproduction": "Reproduction"}
    topics = [pair for rule in RULES for pair in rule.topics]
    for start, title in meant.items():
        (where,) = [where for topic, where in topics if topic.startswith(start)]
        assert titles[re.findall(r"\d+", where)[0]].startswith(title)


def test_the_appendix_names_the_rules_that_are_in_force_their_day_and_that_it_is_no_advice(text):
    appendix = text[text.rindex("Appendix") :]
    for words in ("SR 26-2", "2026-13", "FIL-15-2026", "Annex IV", "2 December 2027", "Regulation B", "tariff filing"):
        assert words in appendix.replace("\\", "")
    assert "not legal advice" in NOT_ADVICE
    assert AS_OF in NOT_ADVICE
    assert AS_OF in GUIDE.read_text(encoding="utf-8")
    assert datetime.strptime(AS_OF, "%d %B %Y") >= datetime(2026, 4, 17)


def test_rules_that_were_rescinded_are_named_in_one_file_and_as_such():
    source = Path(lambdak.__file__).parent
    naming = [path.name for path in source.rglob("*.py") if "SR 11-7" in path.read_text(encoding="utf-8")]
    assert naming == ["supervision.py"]
    (status,) = [rule.status for rule in RULES if "SR 11-7" in rule.status]
    assert "rescinded" in status

"""What is printed of segments, curves and drift: a table of plain text, with the numbers of the frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
from portfolio_cases import CLAIMS, LATE, POLICIES, YEARS, default, frequency


def found():
    return frequency().performance(POLICIES, CLAIMS, exposure=YEARS, n_resamples=0)


def test_segments_print_one_line_each_with_the_numbers_of_their_frame():
    segments = found().by("region")
    title, head, *lines = str(segments).splitlines()
    assert title == "claims per years, by region"
    assert head.split() == ["rows", "exposure", "observed", "expected", "actual", "/", "expected"]
    frame = segments.to_frame()
    assert [line.split()[0] for line in lines] == frame["segment"].tolist()
    assert [float(line.split()[3]) for line in lines] == [float(f"{own:.4g}") for own in frame["observed"]]


def test_bins_say_what_they_are_ordered_by():
    assert "by prediction, the lowest first" in str(found().lift(3))
    both = frequency().compare(np.ones(len(POLICIES)), POLICIES, CLAIMS, exposure=YEARS, n_resamples=0)
    assert "by model over other, the lowest first" in str(both.double_lift())
    assert str(both.changes_by("region")).startswith("model against other, by region\n")


def test_curves_print_the_numbers_that_they_are_read_by():
    curve = found().lorenz()
    assert str(curve).startswith(f"Gini {curve.gini:.4g}, of a perfect order")
    roc = default().performance(POLICIES, LATE, n_resamples=0).roc()
    assert str(roc).startswith(f"ROC AUC {roc.auc:.4g}, KS {roc.ks:.4g} at a probability of")
    assert str(found().calibration()).startswith("actual / expected ")


def test_the_drift_of_a_column_prints_the_shares_of_its_bands():
    own = frequency().drift(POLICIES, POLICIES[POLICIES["region"] == "west"])["region"]
    (line,) = [line for line in str(own).splitlines() if line.split()[0] == "west"]
    assert line.endswith(f"{100 * own.old[own.names.index('west')]:.1f} %  100.0 %")


def test_hostile_levels_and_many_of_them_stay_a_table():
    levels = np.array([f"a\n\x1b[31m{i}" for i in range(40)], object)[np.arange(len(POLICIES)) % 40]
    said = str(found().by(pd.Series(levels, name="</script>\n")))
    assert all(line.isprintable() for line in said.splitlines())
    assert said.endswith("… and 16 more rows")

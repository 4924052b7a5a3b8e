"""Fits of processes that each have a part of the rows: one model for all of them, or one error.

Tests ``targets``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from large_cases import CASES, COLUMNS, FEW, ROWS, bits, parts_of, request_of, table, together

from lambdak import SpectralRegressor
from lambdak.table.large.batches import Drawn
from lambdak.table.read import read_table
from lambdak.training.large.fit import fit_together, summarised


def fitted(case, ranks, sample_rows=None, cuts=(150, 400, 700)):
    """The fits of all ranks, each with every so-manieth batch."""

    def work(transport):
        request = request_of(CASES[case][0]())
        request = request if sample_rows is None else replace(request, sample_rows=sample_rows)
        own = [part for part in parts_of(case, cuts) if part.index % ranks == transport.rank]
        return fit_together(request, own, transport)

    return together(ranks, work)


@pytest.mark.parametrize("case", CASES)
def test_all_ranks_return_one_model_that_has_learned(case):
    one, *others = fitted(case, 3)
    assert all(bits(fit) == bits(one) for fit in others)
    estimator, y, _, shifted = CASES[case]
    model = estimator()._keep(one, {})
    if not shifted:
        frame = table()
        constant = model.score(frame[COLUMNS], np.random.default_rng(0).permutation(frame[y]))
        assert model.score(frame[COLUMNS], frame[y]) > constant + 0.1


@pytest.mark.parametrize("case", CASES)
def test_a_small_table_has_the_model_of_the_table_in_memory(case):
    make, y, weighted, shifted = CASES[case]
    frame = table()
    given = {"sample_weight": frame["weight"]} if weighted else {}
    given |= {"offset": frame["exposure"]} if shifted else {}
    wanted = make().fit(frame[COLUMNS], frame[y], **given)
    for fit in fitted(case, 2, ROWS, (300,)):
        np.testing.assert_array_equal(fit.model.coef, wanted.model_.coef)


def test_a_rank_without_rows_takes_part():
    one, other = fitted("squared error", 2, cuts=())
    assert bits(one) == bits(other)


@pytest.mark.parametrize("rank", [0, 2])
def test_bad_rows_of_one_rank_are_an_error_of_all(rank):
    def work(transport):
        parts = [part for part in parts_of("squared error") if part.index % 3 == transport.rank]
        if transport.rank == rank:
            parts[-1] = replace(parts[-1], y=np.full(len(parts[-1]), np.inf))
        return fit_together(request_of(CASES["squared error"][0]()), parts, transport)

    assert all(isinstance(error, ValueError) and "finite" in str(error) for error in together(3, work))


def test_batches_that_fail_while_they_are_read_are_an_error_of_all():
    def batches(rank):
        yield Drawn(read_table(table()[COLUMNS], keep=False), table()["target"].to_numpy())
        if rank:
            raise OSError("the file is damaged")

    def work(transport):
        return fit_together(request_of(CASES["squared error"][0]()), batches(transport.rank), transport)

    assert [str(error) for error in together(2, work)] == ["the file is damaged"] * 2


def test_a_large_table_has_knots_where_shapes_need_them_and_turns_that_its_sample_chose():
    (fit,) = fitted("shapes", 1)
    a, b, c = fit.model.encoder.columns[:3]
    assert 0.125 in b.knots
    assert (a.clamp, b.clamp, c.clamp) == (False, False, True)
    valley = fit.model.promises.shapes[0]
    assert valley.chosen
    assert valley.at in c.knots


def test_batches_agree_on_the_order_of_levels():
    frame = table()
    levels = ["z", "x", "y"]
    parts = [frame.iloc[:400], frame.iloc[400:]]

    def encoder_of(orders):
        request = request_of(SpectralRegressor(**FEW))
        own = []
        for index, (part, order) in enumerate(zip(parts, orders, strict=True)):
            kind = pd.Categorical(part["kind"], order or levels, ordered=order is not None)
            batch = read_table(part[["a"]].assign(kind=kind), keep=False)
            own.append(Drawn(batch, part["target"].to_numpy(), None, None, index=index))
        return summarised(request, own).encoder()

    assert encoder_of([levels, levels]).columns[1].order == tuple(levels)
    assert encoder_of([levels, levels[::-1]]).columns[1].order == ()
    assert encoder_of([levels, None]).columns[1].order == ()

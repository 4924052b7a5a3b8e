"""Steps that several processes take together: against the reference, and the same bits however shards are spread."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from epoch_cases import LOSSES, ROWS, arrays, copied, epoch_arguments, taken

from lambdak.eigen import steps
from lambdak.eigen.runtime import native

ENGINES = [steps, *([native()] if native() is not None else [])]
NAMES = ["reference", "kernel"][: len(ENGINES)]


def shards_of(arguments, cuts):
    """The rows of an epoch, cut into shards that share one table; batches of unequal size, one shard maybe empty."""
    ids, weights, order = arguments["design"]
    return [((ids, weights, np.ascontiguousarray(part)), arguments["target"]) for part in np.split(order, cuts, axis=1)]


def totals_of(shards, batches):
    return np.sum([[len(p) for p in np.array_split(rows[2][0], batches)] for rows, _ in shards], axis=0).tolist()


def taken_together(engine, arguments, shards, owners, threads=1):
    """Losses and states where each of several threads, as ranks, has the shards that ``owners`` gives it."""
    ranks, totals = max(owners) + 1, totals_of(shards, len(arguments["pace"].rates))
    barrier, states = threading.Barrier(ranks), [copied(arguments["state"]) for _ in range(ranks)]
    sums = [np.zeros(arguments["state"][3].size + 1, np.int64) for _ in range(ranks)]
    losses = [None] * ranks

    def run(rank):
        def reduce():
            barrier.wait()
            total = np.sum(sums, axis=0)
            barrier.wait()
            sums[rank][:] = total

        own = [shard for shard, owner in zip(shards, owners, strict=True) if owner == rank]
        rest = (arguments[name] for name in ("basis", "pace"))
        together = (totals, sums[rank], reduce)
        losses[rank] = engine.shared_epoch(own, arguments["head"], states[rank], *rest, together, threads)

    workers = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    return losses, states


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize("loss", LOSSES)
def test_one_shard_takes_the_steps_of_an_epoch(engine, loss):
    arguments = epoch_arguments(loss, 2)
    _, (state,) = taken_together(engine, arguments, shards_of(arguments, []), [0])
    for part, wanted in zip(arrays(state), arrays(taken(steps, arguments)[1]), strict=True):
        np.testing.assert_allclose(part, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize("constrained", [False, True])
def test_the_losses_of_shards_add_up_to_those_of_all_rows(engine, constrained):
    arguments = epoch_arguments("squared_error", 3, batches=1, constrained=constrained)
    losses, _ = taken_together(engine, arguments, shards_of(arguments, [20, 90]), [0, 0, 0])
    total, mass = np.array(losses[0]).reshape(3, 3, 2).sum(axis=0).T
    np.testing.assert_allclose(total / mass, taken(steps, arguments)[0], rtol=1e-5)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize("models", [1, 5])
@pytest.mark.parametrize("owners", [[0, 1, 0, 1], [1, 1, 0, 0], [3, 2, 1, 0], [0, 0, 0, 1]])
def test_the_bits_do_not_depend_on_which_process_has_which_shard(engine, models, owners):
    arguments = epoch_arguments("log_loss", models, batches=5)
    shards = shards_of(arguments, [40, 43, 100])  # the second has fewer rows than there are batches
    _, (alone,) = taken_together(engine, arguments, shards, [0] * 4)
    for state in taken_together(engine, arguments, shards, owners, threads=2)[1]:
        for part, wanted in zip(arrays(state), arrays(alone), strict=True):
            np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_a_gradient_too_large_for_the_units_is_summed_in_coarser_ones(engine):
    arguments = epoch_arguments("squared_error", 2, weighted=False, batches=1)
    arguments["target"] = (1e7 * arguments["target"][0], None, None)
    calls = []
    (ids, weights, order), target = shards_of(arguments, [])[0]
    state, sums = copied(arguments["state"]), np.zeros(arguments["state"][3].size + 1, np.int64)
    together = ([order.shape[1]], sums, lambda: calls.append(int(sums[-1])))
    rest = (arguments["head"], state, arguments["basis"], arguments["pace"], together, 1)
    engine.shared_epoch([((ids, weights, order), target)], *rest)
    assert calls[0] == 1, "the first unit does not fit"
    assert calls[-1] == 0
    for part, wanted in zip(arrays(state), arrays(taken(steps, arguments)[1]), strict=True):
        np.testing.assert_allclose(part, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_a_gradient_that_is_not_finite_is_refused(engine):
    arguments = epoch_arguments("squared_error", 1, weighted=False, batches=1)
    arguments["target"] = (np.full(ROWS, np.nan), None, None)
    shards, sums = shards_of(arguments, []), np.zeros(arguments["state"][3].size + 1, np.int64)
    rest = (arguments["head"], copied(arguments["state"]), arguments["basis"], arguments["pace"])
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="not finite"):
        engine.shared_epoch(shards, *rest, ([147], sums, lambda: None), 1)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_what_sums_may_fail_and_the_error_comes_out(engine):
    arguments = epoch_arguments("squared_error", 1, batches=1)

    def lost():
        raise ConnectionError("a process is gone")

    together = ([147], np.zeros(arguments["state"][3].size + 1, np.int64), lost)
    rest = (arguments["head"], copied(arguments["state"]), arguments["basis"], arguments["pace"], together, 1)
    with pytest.raises(ConnectionError, match="gone"):
        engine.shared_epoch(shards_of(arguments, []), *rest)

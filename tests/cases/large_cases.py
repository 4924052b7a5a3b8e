"""Large fits of small tables by several ranks of one process, and their results to the last bit."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak import shapes as s
from lambdak.table.large.batches import Drawn
from lambdak.table.read import read_table
from lambdak.training.checkpoint import Laps
from lambdak.training.large.choice import choose
from lambdak.training.large.fit import summarised, train_members
from lambdak.training.large.shards import MemoryShard
from lambdak.training.large.transport import thread_group

ROWS, SAMPLE = 900, 400
FEW = {"effort": "fast", "max_iter": 2, "random_state": 0}
COLUMNS = ["a", "b", "c", "kind", "code"]  # the last has many levels, which share matrices


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (rows, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y", "z"], rows)
    frame["target"] = frame["a"] + frame["b"] * frame["c"] + (frame["kind"] == "x") + 0.1 * rng.standard_normal(rows)
    code = rng.integers(0, 60, rows)
    frame["code"] = np.char.add("level ", code.astype(str))
    frame["target"] += 0.5 * np.sin(code)
    frame["class"] = np.digitize(frame["target"], [-0.3, 0.6])
    frame["sign"] = np.where(frame["target"] > 0, "up", "down")
    frame["weight"] = rng.uniform(0.5, 2.0, rows)
    frame["exposure"] = np.log(rng.uniform(0.5, 2.0, rows))
    return frame


TOGETHER = [s.Complements("a", "b"), s.Rising("a"), s.Anchored("b", 0.125)]
SHAPES = [s.Valley("c"), s.Peak("b", at=0.125), s.RisingAlong({"a": 1, "b": 0.5})]

# name → estimator, target, and whether there are weights and offsets
CASES = {
    "squared error": (lambda: SpectralRegressor(**FEW), "target", False, False),
    "weights and offset": (lambda: SpectralRegressor("poisson", **FEW), "class", True, True),
    "a loss in Python": (lambda: SpectralRegressor("huber", **FEW), "target", True, False),
    "monotone": (lambda: SpectralRegressor(monotonic_cst={"a": 1}, **FEW), "target", False, False),
    "shapes": (lambda: SpectralRegressor(constraints=SHAPES, **FEW), "target", False, False),
    "complements": (lambda: SpectralRegressor(constraints=TOGETHER, **FEW), "target", False, False),
    "capped": (lambda: SpectralRegressor(max_influence=0.5, **FEW), "target", False, False),
    "groups": (lambda: SpectralRegressor(interaction_cst=[["a", "b"], ["b", "c"]], **FEW), "target", True, False),
    "quantiles": (lambda: SpectralQuantileRegressor(**FEW), "target", False, False),
    "two classes": (lambda: SpectralClassifier(class_weight="balanced", **FEW), "sign", False, False),
    "several classes": (lambda: SpectralClassifier(**FEW), "class", True, False),
    "ordered classes": (lambda: SpectralOrdinalClassifier(**FEW), "class", False, False),
}


def request_of(estimator):
    return replace(estimator._large_request(), sample_rows=SAMPLE)


def parts_of(case, cuts=(150, 400, 700)):
    """Batches of the table."""
    _, y, weighted, shifted = CASES[case]
    for index, part in enumerate(np.split(np.arange(ROWS), cuts)):
        own = table().iloc[part]
        weight, offset = own["weight"].to_numpy() if weighted else None, own["exposure"].to_numpy() if shifted else None
        yield Drawn(read_table(own[COLUMNS], keep=False), own[y].to_numpy(), weight, offset, index=index)


def chosen(case):
    """What a sample decides, and the records of each batch."""
    request = request_of(CASES[case][0]())
    parts = list(parts_of(case))
    choice = choose(request, summarised(request, parts))
    return choice, [choice.packed(request.read(part)) for part in parts]


def trained(choice, records, owners, laps=Laps, transport_of=lambda transport: transport):
    """The fit of every rank; shard k is with rank ``owners[k]``."""
    lengths = [len(each) for each in records]

    def work(transport):
        own = {k: MemoryShard([each], (0, k)) for k, each in enumerate(records) if owners[k] == transport.rank}
        return train_members(choice, own, lengths, transport_of(transport), laps(), 1)

    return together(max(owners) + 1, work)


def together(ranks, work):
    """What ``work(transport)`` returns or raises in every thread of a group."""
    found = [None] * ranks

    def run(transport):
        try:
            found[transport.rank] = work(transport)
        except Exception as error:
            found[transport.rank] = error
            transport.leave()

    threads = [threading.Thread(target=run, args=(transport,)) for transport in thread_group(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return found


def bits(fit):
    """Everything that a fit leaves behind."""
    history = [number for event in fit.history for number in (event.train, event.validation)]
    parts = [fit.model.coef, fit.model.start, *fit.state.theta, *history]
    return [(np.asarray(part).shape, np.asarray(part).tobytes()) for part in parts]

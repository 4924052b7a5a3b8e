"""What a fit costs on many machines: the bytes that travel per step, and the time, from what is measured on this one.

usage: python benchmarks/cluster_cost.py [--rows 1e10] [--machines 64] [--columns 20] [--effort fast]

Measured here: rows/s of one thread in a step, and the time of a step that does not depend on rows (rounding, Adam,
writing the coefficients). Assumed and printed: threads per machine, bandwidth and latency of the network. A step sums
one array of whole numbers over a binomial tree: up and down, log2(machines) hops each.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from lambdak import SpectralRegressor
from lambdak.estimators.settings import fit_settings
from lambdak.losses import make_loss
from lambdak.table.large.batches import Drawn
from lambdak.table.read import read_table
from lambdak.training.checkpoint import NoCheckpoint
from lambdak.training.large.choice import LargeRequest, choose
from lambdak.training.large.fit import summarised
from lambdak.training.large.shards import MemoryShard
from lambdak.training.large.targets import NumberTargets
from lambdak.training.large.trainer import LargeSchedule, LargeTrainer, Supply, large_schedule
from lambdak.training.large.transport import Alone

ROWS = 200_000


def timed(choice, records, batch, steps):
    """Seconds of steps of this size, on one thread, with two shards, so that sums are made."""
    session = replace(choice.session, settings=replace(choice.session.settings, threads=1))
    shards = {k: MemoryShard([part], (0, k)) for k, part in enumerate(np.array_split(records, 2))}
    lengths = [shard.rows for shard in shards.values()]
    supply = Supply(shards, lengths, choice)
    plain = session.settings.recipe.schedule(ROWS, None)
    schedule = LargeSchedule(1, 1, steps, replace(plain, epochs=1, batch=batch))
    supply = replace(supply, lengths=[steps * batch // 2] * 2)
    parameters = session.new_parameters(choice.plan, choice.regularisations)
    trainer = LargeTrainer(session, parameters, supply, schedule, Alone())
    trainer._pass(schedule.plain, 0, None)
    began = time.perf_counter()
    trainer._pass(schedule.plain, 0, None)
    return (time.perf_counter() - began) / steps, parameters.coef.size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e10)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--threads", type=int, default=32, help="of a machine")
    parser.add_argument("--gigabits", type=float, default=25.0)
    parser.add_argument("--latency", type=float, default=50e-6, help="of a hop, in seconds")
    parser.add_argument("--effort", default="fast")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((ROWS + 60_000, args.columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + rng.standard_normal(len(X))
    settings = fit_settings(SpectralRegressor(effort=args.effort))
    loss = make_loss("squared_error", quantile=0.5, power=1.5)
    request = LargeRequest("SpectralRegressor", NumberTargets(loss), settings, 0, {}, NoCheckpoint())
    part = Drawn(read_table(X, keep=False), y)
    choice = choose(request, summarised(request, [part]))
    records = choice.packed(part)
    small, size = timed(choice, records, 512, 40)
    large, _ = timed(choice, records, 8192, 8)
    per_row = (large - small) / (8192 - 512)
    fixed = small - 512 * per_row
    schedule = large_schedule(choice.session.settings, int(args.rows))
    batch = schedule.plain.batch
    print(f"measured on one thread: {per_row * 1e6:.3f} µs per row of a step, {fixed * 1e3:.2f} ms per step besides")
    print(f"{size:,} coefficients: a sum is {size * 8 / 1e6:.2f} MB; batch {batch:,}, {schedule.epochs} epoch(s)")
    print(f"assumed: {args.threads} threads per machine, {args.gigabits:g} Gbit/s, {args.latency * 1e6:g} µs per hop")
    names = ["machines", "steps", "hours", "compute ms", "network ms", "MB sent per step", "TB in all", "GB kept each"]
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for machines in args.machines:
        rows = batch * max(machines // 8, 1)  # batches grow with the machines: there are steps enough
        count = int(args.rows * schedule.epochs / rows)
        compute = rows / machines / args.threads * per_row + fixed
        hops = int(np.ceil(np.log2(machines))) if machines > 1 else 0
        network = 2 * hops * (size * 8 / (args.gigabits * 1e9 / 8) + args.latency)
        sent = 2 * size * 8 / 1e6 if machines > 1 else 0.0
        kept = args.rows * choice.packing.record_bytes / machines / 1e9
        times = f"{count * (compute + network) / 3600:.2f} | {compute * 1e3:.2f} | {network * 1e3:.2f}"
        print(f"| {machines} | {count:,} | {times} | {sent:.2f} | {count * sent / 1e6:.2f} | {kept:,.0f} |")


if __name__ == "__main__":
    main()

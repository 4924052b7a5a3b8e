"""Train spectral neurons on HIGGS with any number of processes, which take the steps that one would take.

usage: python examples/ddp_higgs.py --data HIGGS.csv.gz
       torchrun --standalone --nproc-per-node=2 examples/ddp_higgs.py --data HIGGS.csv.gz [--resume]
       torchrun --standalone --nproc-per-node=2 examples/ddp_higgs.py --synthetic 20000 --steps 500 --batch 256

--batch is the global batch. Batch t is the t-th cut of one stream of permutations of the training rows, which every
process draws from the same seed; rank r of N takes its rows r, r + N, …, and DistributedDataParallel averages the
gradients of the N equal shares. So the steps are those of a single process, up to rounding, for every N that divides
the batch. Processes talk through nccl where each has a GPU, else through gloo, and share the cores of their machine.

Rank 0 writes OUT/checkpoint.pt every --checkpoint-every steps, as a whole or not at all: parameters, optimiser, and how
many batches were taken. --resume continues from it as if nothing had happened, on any number of processes that see the
folder. If a process is lost, the others stop, say from where to continue, and torchrun ends with a non-zero code;
torchrun --max-restarts=3 starts them again from the last checkpoint by itself.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss
from torch.nn.parallel import DistributedDataParallel

import lambdak
import torch
from lambdak.atomic import write_bytes
from lambdak.paper.data.higgs import FEATURES, higgs
from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.data.rows import DenseBatch, DenseData, Stream
from lambdak.torch import SpectralLayer, SpectralNeuron
from torch import Tensor, nn

READING = timedelta(hours=2)  # the others wait so long while the cache is built
LEARNT = ("batch", "seed", "dim", "hidden", "rate", "dtype")  # what a checkpoint must have in common with a training


class Stopped(Exception):  # noqa: N818
    """Torchrun ends the run."""


# ---- the processes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where this process stands among all, and among those of its machine; alone if torchrun did not start it."""

    rank: int
    world: int
    local_rank: int
    local_world: int

    @classmethod
    def from_environment(cls) -> Place:
        """As torchrun says."""
        names = {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}
        return cls(*(int(os.environ.get(name, alone)) for name, alone in names.items()))

    @property
    def device(self) -> torch.device:
        """A GPU of its own, or the CPU."""
        enough = torch.cuda.device_count() >= self.local_world
        return torch.device("cuda", self.local_rank) if enough else torch.device("cpu")

    @property
    def is_first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0


def join(place: Place, timeout: float) -> None:
    """Meet the other processes, and leave them their share of the cores."""
    if place.world == 1:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(cores // place.local_world, 1)
    torch.set_num_threads(threads)
    lambdak.set_num_threads(threads)
    if place.device.type == "cuda":
        torch.cuda.set_device(place.device)
    backend = "nccl" if place.device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    print(f"rank {place.rank} of {place.world}: process {os.getpid()}, {place.device}, threads: {threads}", flush=True)


def sum_over_ranks(number: Tensor, place: Place) -> float:
    if place.world > 1:
        dist.all_reduce(number)
    return number.item()


def load(args: argparse.Namespace, place: Place) -> DenseData:
    """The data; their cache is built by the first process, then by the first of machines that do not see that one."""
    patient = dist.new_group(backend="gloo", timeout=READING) if place.world > 1 else None
    for mine in (place.is_first, place.local_rank == 0, True):
        if mine:
            source = args.data or write_miniature("higgs", args.out / "cache" / str(args.synthetic), args.synthetic)
            data = higgs(source, args.out / "cache" / source.name, progress=place.is_first)
        if patient is not None:
            dist.barrier(patient)
    return data


# ---- training ------------------------------------------------------------------------------------------------------


def network(dim: int, hidden: Sequence[int]) -> nn.Module:
    """One neuron, or layers of them below it."""
    sizes = [FEATURES, *hidden]
    layers = [SpectralLayer(n, m, dim) for n, m in zip(sizes, hidden, strict=False)]
    return nn.Sequential(*layers, SpectralNeuron(sizes[-1], dim))


class Training:
    """A network, its optimiser and the rows they see next: all that a checkpoint holds."""

    def __init__(self, data: DenseData, args: argparse.Namespace, place: Place) -> None:
        if args.batch % place.world:
            raise ValueError(f"--batch must be a multiple of the {place.world} processes; got {args.batch}")
        torch.manual_seed(args.seed)
        self.data, self.place, self.dtype = data, place, getattr(torch, args.dtype)
        self.net = network(args.dim, args.hidden).to(place.device, self.dtype)
        self.model = DistributedDataParallel(self.net) if place.world > 1 else self.net
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.rate)
        self.settings = {"data": data.checksum} | {name: getattr(args, name) for name in LEARNT}
        self.taken = 0  # batches of the stream

    def batches(self, last: int) -> Iterator[DenseBatch]:
        """The share of this process in every batch from here on."""
        stream = Stream(self.data.train_rows, self.settings["batch"], self.settings["seed"])
        for rows in islice(stream, self.taken, last):
            yield self.data.batch(rows[self.place.rank :: self.place.world])

    def step(self, batch: DenseBatch) -> Tensor:
        """One step on the mean log-loss of a batch, which is returned."""
        self.optimizer.zero_grad()
        loss = self.loss(self.model, batch)
        loss.backward()
        self.optimizer.step()
        self.taken += 1
        return loss.detach()

    def loss(self, model: nn.Module, batch: DenseBatch) -> Tensor:
        """Mean log-loss of a batch."""
        x, y = (torch.tensor(part, device=self.place.device, dtype=self.dtype) for part in batch)
        return log_loss(model(x), y)

    def measure(self, part: str) -> float:
        """Mean log-loss over the rows of a part, of which every process takes some blocks."""
        first, last = self.data.splits[part]
        blocks = islice(self.data.part(part), self.place.rank, None, self.place.world)
        total = self.zero()
        with torch.no_grad():
            for block in blocks:
                total += self.loss(self.net, block) * len(block.y)
        return sum_over_ranks(total, self.place) / (last - first)

    def zero(self) -> Tensor:
        """A sum to add losses to."""
        return torch.zeros((), device=self.place.device, dtype=self.dtype)

    def save(self, path: Path) -> None:
        """Write a checkpoint, or leave the one that was there."""
        state = {"model": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
        buffer = io.BytesIO()
        torch.save(state | {"taken": self.taken, "settings": self.settings}, buffer)
        write_bytes(path, buffer.getvalue())

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint; one of another training is refused."""
        state = read_checkpoint(path)
        for name, value in self.settings.items():
            if state["settings"][name] != value:
                raise ValueError(f"{path} was written with {name}={state['settings'][name]}; got {value}")
        self.net.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.taken = state["taken"]


def read_checkpoint(path: Path) -> dict[str, Any]:
    return torch.load(path, map_location="cpu", weights_only=True)


def fit(training: Training, args: argparse.Namespace, path: Path) -> None:
    """Train up to the last step, printing progress and writing checkpoints on the way."""
    place, total, began = training.place, training.zero(), time.perf_counter()
    start = shown = training.taken
    for batch in training.batches(args.steps):
        total += training.step(batch)
        taken, is_last = training.taken, training.taken == args.steps
        if taken % args.log_every == 0 or is_last:
            loss = sum_over_ranks(total, place) / (taken - shown) / place.world
            if place.is_first:
                print(progress(loss, taken, args, (taken - start) / (time.perf_counter() - began)), flush=True)
            total, shown = training.zero(), taken
        if place.is_first and (taken % args.checkpoint_every == 0 or is_last):
            training.save(path)
            print(f"checkpoint {path}: step {taken}", flush=True)


def progress(loss: float, taken: int, args: argparse.Namespace, speed: float) -> str:
    left = timedelta(seconds=round((args.steps - taken) / speed))
    return f"step {taken:,} of {args.steps:,}  loss {loss:.5f}  {speed * args.batch:,.0f} samples/s  {left} left"


# ---- the command ---------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="HIGGS.csv, compressed or not, or a Parquet sample of it")
    source.add_argument("--synthetic", type=int, metavar="ROWS", help="made-up rows instead")
    parser.add_argument("--out", type=Path, default=Path("ddp-higgs"), help="folder of the checkpoint and the cache")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=4096, help="rows of a step, over all processes")
    parser.add_argument("--rate", type=float, default=3e-3, help="learning rate of Adam")
    parser.add_argument("--dim", type=int, default=15)
    parser.add_argument("--hidden", type=int, nargs="*", default=[], help="neurons of each layer below the last")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-every", type=int, default=200, metavar="STEPS")
    parser.add_argument("--log-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds to wait for a silent process")
    return parser.parse_args(arguments)


def prepare(args: argparse.Namespace, place: Place, path: Path) -> Training:
    """The training to be done, from its start or from the checkpoint."""
    restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0 and path.exists()
    if path.exists() and not (args.resume or restarted):
        raise ValueError(f"{path} is there: add --resume to continue from it, or name another folder with --out")
    training = Training(load(args, place), args, place)
    if args.resume or restarted:
        training.restore(path)
    return training


def last_words(error: BaseException, path: Path, place: Place, taken: int) -> str:
    """What happened, and how to continue."""
    why = f"rank {place.rank} stops after step {taken}: {error or type(error).__name__}"
    if place.world > 1:
        why += "\nIf a process was lost, torchrun names it below."
    if not path.exists():
        return f"{why}\nThere is no checkpoint yet: run the same command again."
    step = read_checkpoint(path)["taken"]
    return f"{why}\n{path} holds step {step}: run the same command with --resume to continue from it."


def end(*_: Any) -> None:
    raise Stopped("torchrun ends the run, because a process was lost or it was told to")


def main(arguments: Sequence[str] | None = None) -> None:
    args, place = parse(arguments), Place.from_environment()
    path = args.out / "checkpoint.pt"
    try:
        join(place, args.timeout)
        training = prepare(args, place, path)
    except (OSError, ValueError) as error:
        sys.exit(f"ddp_higgs: {error}" if place.is_first else 1)
    if place.world > 1:
        signal.signal(signal.SIGTERM, end)
    try:
        fit(training, args, path)
        losses = {part: training.measure(part) for part in ("validation", "test")}
    except (Stopped, RuntimeError, KeyboardInterrupt) as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun may send it while this is printed
        sys.exit(last_words(error, path, place, training.taken))
    if place.is_first:
        print("log-loss: " + ", ".join(f"{part} {loss:.5f}" for part, loss in losses.items()))
    if place.world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

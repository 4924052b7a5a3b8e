"""``torch.distributed`` as a transport of fits: inside torchrun, Ray Train, or any other launcher."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np

import torch
from lambdak.training.large.transport import Bytes, PeerLostError, Whole
from torch import distributed

_NAMED = 8  # ranks in a message


@final
class ProcessGroup:
    """One process of a group of ``torch.distributed``, for ``fit(..., transport=ProcessGroup())``.

    The group must be able to sum whole numbers on the CPU, as gloo does; None is the default one. Every process calls
    ``fit`` with its own rows and the same settings, and gets the same model. Start the group with a ``timeout``: it is
    for how long a process may be silent.

    Examples
    --------
    >>> import torch.distributed as dist
    >>> store = dist.HashStore()
    >>> dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    >>> ProcessGroup().size
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, group: Any = None) -> None:
        if not distributed.is_initialized():
            raise ValueError("torch.distributed is not set up: call torch.distributed.init_process_group('gloo') first")
        self._group = group
        self.rank, self.size = distributed.get_rank(group), distributed.get_world_size(group)

    def allreduce(self, array: Whole) -> None:
        """Replace every number by its sum over all processes."""
        with self._losing():
            distributed.all_reduce(torch.from_numpy(array), group=self._group)

    def broadcast(self, array: Bytes, root: int = 0) -> None:
        """Replace the bytes by those of one process."""
        source = root if self._group is None else distributed.get_global_rank(self._group, root)
        room = np.array(array)  # bytes that were sent may be read-only
        with self._losing():
            distributed.broadcast(torch.from_numpy(room), source, group=self._group)
        if self.rank != root:
            array[...] = room

    @contextmanager
    def _losing(self) -> Iterator[None]:
        """Name this process, and the others where PyTorch does not: every process prints an error of its own."""
        try:
            yield
        except RuntimeError as error:
            others = [rank for rank in range(self.size) if rank != self.rank]
            raise PeerLostError(
                f"rank {self.rank} of {self.size}: {_named(others)} was lost or did not answer within the time-out of "
                f"the group; see their logs, and start all ranks again: {error}"
            ) from None


def _named(ranks: list[int]) -> str:
    """Ranks in words, the first few of many."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(map(str, ranks[:_NAMED]))
    return f"one of the ranks {shown}{', …' if len(ranks) > _NAMED else ''}"

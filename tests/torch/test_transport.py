"""Fits by the processes of torch.distributed: the model of any transport, and an error where a process is lost."""

from __future__ import annotations

import hashlib

import pytest
from large_cases import CASES, bits, parts_of, request_of, together
from processes import Program

from lambdak.training.large.fit import fit_together

PROCESS = """
import datetime, os, sys
import torch.distributed as dist
from large_cases import CASES, bits, parts_of, request_of
from lambdak.torch import ProcessGroup
from lambdak.training.large.fit import fit_together
from lambdak.training.large.transport import PeerLostError
import hashlib, numpy as np

rank = int(sys.argv[1])
store = dist.FileStore({store!r}, 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=datetime.timedelta(seconds=20))
group = ProcessGroup()
own = [part for part in parts_of({case!r}) if part.index % 2 == rank]
if {killed!r} and rank == 1:
    plain, left = group.allreduce, [12]
    class Ending:
        rank, size, broadcast = group.rank, group.size, group.broadcast
        def allreduce(self, array):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), 9)
            plain(array)
    group = Ending()
try:
    fit = fit_together(request_of(CASES[{case!r}][0]()), own, group)
    print(hashlib.sha256(repr(bits(fit)).encode()).hexdigest())
except PeerLostError as error:
    print(error)
"""


def processes(tmp_path, case, killed=False):
    code = PROCESS.format(store=str(tmp_path / "store"), case=case, killed=killed)
    started = [Program(code, rank, env={"OMP_NUM_THREADS": "1"}) for rank in range(2)]
    return [process.done().stdout.strip() for process in started]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["squared error", "quantiles"])
def test_two_processes_fit_the_model_of_two_threads(tmp_path, case):
    def work(transport):
        own = [part for part in parts_of(case) if part.index % 2 == transport.rank]
        return fit_together(request_of(CASES[case][0]()), own, transport)

    wanted = [hashlib.sha256(repr(bits(fit)).encode()).hexdigest() for fit in together(2, work)]
    assert processes(tmp_path, case) == wanted


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_of_the_other_that_names_both_ranks(tmp_path):
    error, killed = processes(tmp_path, "squared error", killed=True)
    assert error.startswith("rank 0 of 2: rank 1 was lost or did not answer within the time-out of the group")
    assert killed == ""

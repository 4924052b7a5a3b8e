"""Modules in several processes: gradients of DistributedDataParallel, shards of FSDP, modules sent by mp.spawn."""

from __future__ import annotations

import pytest
from processes import Program

BEGINNING = """
import datetime, sys, warnings
import torch
import torch.distributed as dist
from torch import nn
from lambdak import shapes
from lambdak.torch import SparseSpectralNeuron, SpectralLayer, SpectralNeuron

rank = int(sys.argv[1])
store = dist.FileStore({store!r}, 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=datetime.timedelta(seconds=60))
torch.manual_seed(0)
"""

DATA_PARALLEL = """
for sparse in (True, False):
    module = SparseSpectralNeuron(20, 3, active=2, sparse=sparse)
    wrapped = nn.parallel.DistributedDataParallel(module)
    ids = torch.arange(12).reshape(6, 2) % 7
    wrapped(ids[rank::2]).square().mean().backward()
    found = [module.weight.grad, module.constant.grad]
    print(found[0].is_sparse, found[0].coalesce().indices().flatten().tolist() if found[0].is_sparse else None)
    module.zero_grad()
    module(ids).square().mean().backward()
    wanted = [module.weight.grad, module.constant.grad]
    for ours, theirs in zip(found, wanted):
        torch.testing.assert_close(ours.to_dense(), theirs.to_dense())
dist.destroy_process_group()
"""

SHARDED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

def build(**settings):
    torch.manual_seed(0)
    first = SpectralLayer(4, 3, 4, **{"max_influence": 0.5, **settings})
    return nn.Sequential(first, nn.Linear(3, 4), SpectralNeuron(4, 5))

x, y = torch.randn(8, 4), torch.randn(8)

def trained(module, rows):
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        (module(x[rows]) - y[rows]).square().mean().backward()
        optimizer.step()
    return module(x).detach()

mesh = init_device_mesh("cpu", (2,))

def check(**settings):
    wanted = trained(build(**settings), slice(None))
    module = build(**settings)
    for part in (module[0], module[2], module):
        fully_shard(part, mesh=mesh)
    torch.testing.assert_close(trained(module, slice(rank, None, 2)), wanted, rtol=1e-4, atol=1e-5)

for constraint in (None, "diagonal", "factor", "root", "squareplus"):
    for signs in ([1, 0, -1, 0], 1) if constraint else (None,):  # without free rows, too, which are then no parameter
        check(monotonic_cst=signs, constraint=constraint)
    print(constraint)
bound = [shapes.Complements(0, 1), shapes.Rising(3), shapes.MaxSlope({0: 1, 2: 1}, 0.5)]
check(max_influence=None, max_lipschitz=0.9, constraints=bound)
print("shapes")
dist.destroy_process_group()
"""

SPAWNED = """
import sys
import torch
import torch.multiprocessing as mp
sys.path.insert(0, {folder!r})
from spawned import run
from lambdak import shapes
from lambdak.torch import SpectralLayer

torch.manual_seed(0)
known = [shapes.Complements(0, 1), shapes.Falling(2), shapes.MaxSlope(None, 0.5)]
module = SpectralLayer(3, 2, 4, constraint="root", constraints=known)
with torch.no_grad():
    print(module(torch.ones(1, 3)).sum().item(), flush=True)
mp.spawn(run, args=(module, {result!r}), nprocs=1)
"""

WORKER = """
import torch
def run(rank, module, result):
    with torch.no_grad():
        open(result, "w").write(repr(module(torch.ones(1, 3)).sum().item()))
"""


def run(tmp_path, code):
    code = BEGINNING.format(store=str(tmp_path / "store")) + code
    started = [Program(code, rank, env={"OMP_NUM_THREADS": "1"}) for rank in range(2)]
    ended = [process.done() for process in started]
    assert [process.returncode for process in ended] == [0, 0], ended[0].stderr + ended[1].stderr
    return [process.stdout.splitlines() for process in ended]


@pytest.mark.slow
def test_data_parallel_sparse_neurons_have_the_gradient_of_all_rows_in_either_form(tmp_path):
    assert run(tmp_path, DATA_PARALLEL) == [["True [0, 1, 2, 3, 4, 5, 6]", "False None"]] * 2


@pytest.mark.slow
def test_fully_sharded_networks_train_like_whole_ones(tmp_path):
    assert run(tmp_path, SHARDED) == [["None", "diagonal", "factor", "root", "squareplus", "shapes"]] * 2


@pytest.mark.slow
def test_constrained_modules_are_arguments_of_spawned_processes(tmp_path):
    (tmp_path / "spawned.py").write_text(WORKER)
    result = tmp_path / "result"
    ended = Program(SPAWNED.format(folder=str(tmp_path), result=str(result)), env={"OMP_NUM_THREADS": "1"}).done()
    assert ended.returncode == 0, ended.stderr
    assert float(result.read_text()) == float(ended.stdout)

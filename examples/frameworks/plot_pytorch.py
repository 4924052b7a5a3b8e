"""
A monotone neuron in PyTorch
============================

*Can the guarantee be part of my own network?* ``lambdak.torch`` has the neuron as a module. Whatever the optimiser
does, the output never falls in the inputs that you name, and a stack of layers says what it promises.

Needs ``pip install "lambdak[torch]"``.
"""

import matplotlib.pyplot as plt

import torch
from lambdak.torch import SpectralLayer, SpectralNeuron, guarantees
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)  # for 512 rows, several threads cost more than they bring
x = 2 * torch.rand(512, 2) - 1
y = torch.tanh(3 * x[:, 0]) * (1 + x[:, 1] ** 2) + 0.2 * torch.randn(512)

neuron = SpectralNeuron(2, dim=7, monotonic_cst=[1, 0])  # never falls in the first input
optimizer = torch.optim.Adam(neuron.parameters(), lr=0.03)
losses = []
for _ in range(300):
    optimizer.zero_grad()
    loss = (neuron(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; the noise alone is 0.04")

# %%
# The slope in the first input, everywhere, and the proven bounds per unit of each input:
points = (6 * torch.rand(10_000, 2) - 3).requires_grad_()
slope = torch.autograd.grad(neuron(points).sum(), points)[0][:, 0]
print(f"smallest slope at 10,000 points: {slope.min():.4f}")
print("bounds:", neuron.norms.detach().numpy().round(2))

# %%
line = torch.linspace(-1.5, 1.5, 200)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
left.semilogy(losses)
left.set(xlabel="step", ylabel="mean squared error", title="Training")
for second in (-1.0, 0.0, 1.0):
    with torch.no_grad():
        curve = neuron(torch.stack([line, torch.full_like(line, second)], 1))
    right.plot(line, curve, label=f"second input {second:g}")
right.set(xlabel="first input", ylabel="output", title="No curve falls, also beyond the data (±1)")
right.legend(frameon=False)
plt.show()

# %%
# A deeper network: a rising function of rising functions rises.
first = SpectralLayer(2, 8, dim=5, eig_idx=4, monotonic_cst=[1, 0])
network = nn.Sequential(first, SpectralLayer(8, 1, dim=5, eig_idx=4, monotonic_cst=1))
print(guarantees(network))

# %%
# **Caveat.** Save the ``state_dict``, not the module: constraints are parametrisations, as in
# ``torch.nn.utils.parametrize``. ONNX exporters do not know eigenvalues.
#
# **Read on:** :doc:`/guide/pytorch`, :doc:`/guide/hyper-networks`, :doc:`/guide/flows`.

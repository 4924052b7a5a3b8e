r"""θ of a stack of models: from parameters to coefficients C and back, and one step of Adam with decoupled decay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import (
    AdamConstants,
    Basis,
    Cones,
    DesignRows,
    EpochState,
    LossHead,
    Pace,
    Rows,
    RowTargets,
    Together,
)
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import aligned_zeros, packed_size, padded_size
from lambdak.eigen.steps import step_engine
from lambdak.training.caps import Cap, GroupCap
from lambdak.training.checkpoint import State
from lambdak.training.cones import ConeCoordinates
from lambdak.training.shrink import Shrinkage
from lambdak.training.slope_caps import PieceCap
from lambdak.training.terms import Reading
from lambdak.training.whitening import FreeCoordinates

# The usual constants but for β2, which forgets within a hundred steps: small tables have a few hundred; no study on
# record.
ADAM = AdamConstants(beta1=0.9, beta2=0.99, tiny=1e-8)

_START_SIZE = 0.05  # of the free parameters, relative to 1/√(their number)
_CONE_DECAY = 0.1  # the steps of a constrained column decay slower: their parameters are roots


class Parameters:
    """The parameters of all models: one array for the free columns, and one for each constrained column.

    ``coef`` (models, P, padded width) always holds the coefficients that belong to them. ``threads`` is the number of
    threads of every call of the kernel, here and by the trainer; 0 takes the process's setting.
    """

    def __init__(
        self,
        free: FreeCoordinates,
        cones: Sequence[ConeCoordinates],
        dim: int,
        decay: Sequence[float],
        *,
        caps: Sequence[Cap | GroupCap | PieceCap] = (),
        shrinkage: Shrinkage | None = None,
        reading: Reading | None = None,
        threads: int = 0,
    ) -> None:
        self.dim, self._free, self._cones, self._caps, self._shrinkage = dim, free, cones, caps, shrinkage
        self._decay, self._reading, self.threads = np.asarray(decay), reading, threads
        width = padded_size(dim)
        sizes = [free.size, *(cone.size for cone in cones)]
        self.theta, self.grad, first, second = (
            [aligned_zeros((len(decay), size, width)) for size in sizes] for _ in range(4)
        )
        self._moments = list(zip(first, second, strict=True))
        self.coef = aligned_zeros((len(decay), free.n_design, width))
        self._steps = 0
        self._travelled = 0.0  # the squared rates since the last proximal step: how far noise alone would drift
        self.guarded = bool(cones or caps)  # whether the coefficients are constrained

    def start_(self, constants: FloatArray, rng: np.random.Generator) -> None:
        """Begin near the constants (models, D): all columns contribute next to nothing."""
        free, width = self.theta[0], packed_size(self.dim)
        models, size, _ = free.shape
        noise = rng.standard_normal((models, size - 1, width))
        free[:, 1:, :width] = _START_SIZE / np.sqrt(max(size - 1, 1)) * noise
        free[:, 0, :width] = constants
        for theta, cone in zip(self.theta[1:], self._cones, strict=True):
            theta[..., :width] = cone.start(models, rng)
        if self._reading is not None:
            self._reading.start_(self.theta)
        self.write_()

    def continue_(self, theta: Sequence[FloatArray]) -> None:
        """Begin where another training ended."""
        for part, value in zip(self.theta, theta, strict=True):
            part[...] = value
        self.write_()

    def state(self) -> State:
        """All that later steps depend on."""
        return State({"coef": self.coef, **self._parts()}, {"steps": self._steps, "travelled": self._travelled})

    def restore_(self, state: State) -> None:
        """Continue exactly where a training of the same models was."""
        for name, part in self._parts().items():
            state.copy_to_(name, part)
        self.write_()  # the caps remember their last call
        state.copy_to_("coef", self.coef)  # as the kernel wrote it, which may differ in the last bit
        self._steps, self._travelled = state.number("steps"), state.number("travelled")

    def _parts(self) -> dict[str, FloatArray]:
        """θ and its moments, by name."""
        moments = [part for pair in self._moments for part in pair]
        return {f"parameters {i}": part for i, part in enumerate([*self.theta, *moments])}

    def write_(self) -> None:
        """Fill ``coef`` from the parameters."""
        self._free.write_(self.theta[0], self.coef, self.threads)
        self._finish_(self.theta, self.coef)

    def _finish_(self, theta: Sequence[FloatArray], coef: FloatArray, proven: bool = False) -> None:
        for part, cone in zip(theta[1:], self._cones, strict=True):
            cone.add_(part[..., : packed_size(self.dim)], coef)
        for cap in self._caps:
            cap.apply_(coef, self.threads, proven)

    def exact(self, theta: Sequence[FloatArray]) -> FloatArray:
        """The coefficients of θ in float64: steps are semidefinite to its rounding, and caps hold for all cells."""
        parts = [part.astype(np.float64) for part in theta]
        coef = self._free.exact(parts[0])
        self._finish_(parts, coef, proven=True)
        self.write_()  # the caps remember their last call
        return coef

    def pull_back_(self, grad_coef: FloatArray) -> None:
        """Fill ``grad`` from the gradient with respect to ``coef``, which is changed in place."""
        for cap in reversed(self._caps):
            cap.pull_back_(grad_coef)
        self._free.pull_back_(grad_coef, self.grad[0], self.threads)
        width = packed_size(self.dim)
        for theta, grad, cone in zip(self.theta[1:], self.grad[1:], self._cones, strict=True):
            grad[..., :width] = cone.pull_back(theta[..., :width], grad_coef)
        if self._reading is not None:
            self._reading.confine_(self.grad)

    def step_(self, grad_coef: FloatArray, rate: float) -> None:
        """Pull the gradient with respect to ``coef`` back (in place), take Adam's step, and write ``coef`` again."""
        self.pull_back_(grad_coef)
        self._steps += 1
        for part in range(len(self.theta)):
            self._adam_(part, rate)
        self._travelled += rate**2
        self.write_()

    @property
    def compiled(self) -> bool:
        """Whether the kernel can take the steps of an epoch by itself: no column is capped or a multiple of I."""
        confined = self._reading is not None and self._reading.confined
        return len(self._cones) <= 1 and not (self._caps or confined)

    def epoch_(self, design: DesignRows, target: RowTargets, head: LossHead, rates: Sequence[float]) -> Float64Array:
        """Take the steps of an epoch on rows (members, n); returns the mean loss of each member."""
        arguments = self._compiled_arguments(head, rates)
        return self._taken_(rates, step_engine().epoch(design, target, *arguments, self.threads))

    def shared_epoch_(
        self, shards: Sequence[Rows], head: LossHead, rates: Sequence[float], together: Together
    ) -> Float64Array:
        """Take steps together with other processes; returns Σ weight · loss and Σ weight, (shards, members, 2)."""
        arguments = self._compiled_arguments(head, rates)
        losses = self._taken_(rates, step_engine().shared_epoch(shards, *arguments, together, self.threads))
        return losses.reshape(len(shards), losses.size // max(2 * len(shards), 1), 2)  # there may be no shards here

    def _compiled_arguments(self, head: LossHead, rates: Sequence[float]) -> tuple[LossHead, EpochState, Basis, Pace]:
        state = (self.theta[0], *self._moments[0], self.coef, self._compiled_cones)
        return head, state, self._free.basis, Pace(list(rates), self._decay.tolist(), self._steps, *ADAM)

    def _taken_(self, rates: Sequence[float], losses: object) -> Float64Array:
        """Count the steps that the kernel took."""
        self._steps += len(rates)
        self._travelled += float(np.square(rates).sum())
        if self._cones:
            self.write_()  # the same to the last bit, however the parameters came about
        return np.array(losses)

    @cached_property
    def _compiled_cones(self) -> Cones | None:
        """θ of the constrained columns and how it is spread, as the kernel takes it."""
        if not self._cones:
            return None
        state = (self.theta[1], *self._moments[1])
        return self._cones[0].compiled(state, self._free.n_design, _CONE_DECAY)

    def shrink_(self) -> None:
        """Take the proximal step that belongs to the steps since the last one, if columns may vanish."""
        if self._shrinkage is not None:
            self._shrinkage.apply_(self.theta[0], np.sqrt(self._travelled))
            self.write_()
        self._travelled = 0.0

    def _adam_(self, part: int, rate: float) -> None:
        theta = self.theta[part]
        models, _, width = theta.shape
        size = rate / ADAM.rate_correction(self._steps)
        keep = np.maximum(1 - rate * self._decay * (_CONE_DECAY if part else 1), 0)
        first, second = self._moments[part]
        state = (_flat(theta), _flat(self.grad[part]), _flat(first), _flat(second))
        spared = 0 if part else width  # the constant does not decay
        rule = ADAM.rule(self._steps)
        step_engine().adam(state, [size] * models, keep.tolist(), rule, spared, self.threads)


def _flat(part: FloatArray) -> FloatArray:
    """The numbers of each model, in a row."""
    return part.reshape(len(part), -1)

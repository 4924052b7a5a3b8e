r"""L-BFGS with a line search for the weak Wolfe conditions, which also ends where a function has kinks.

Along a direction d, with h(t) = f(x + t d), a step t is taken if

    h(t) ≤ h(0) + c₁ t h'(0)   (it falls enough)   and   h'(t) ≥ c₂ h'(0)   (it is not too short),

and found by doubling and bisection: a step that falls too little is an upper end, one that is too short a lower end.
Strong Wolfe conditions limit |h'(t)|, which no step meets where the slope jumps from negative to positive: at a kink,
as an eigenvalue has them where it is repeated. After Lewis and Overton, Nonsmooth optimization via quasi-Newton
methods, Mathematical Programming 141 (2013).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from lambdak._checks import check_int, check_positive
from torch import Tensor

_C1, _C2 = 1e-4, 0.9
_MOST_TRIALS = 40  # of one line search: bisection has then used up the digits
_MOST = 2**31
_FIRST = 1.0  # length of the first step, at most


class _Point(NamedTuple):
    """Parameters as one vector, with value and gradient."""

    x: Tensor
    value: float
    grad: Tensor


class WeakWolfeLBFGS(torch.optim.Optimizer):
    r"""Full-batch L-BFGS: x ← x − t H g, where H comes from the last steps and the changes of the gradient along them.

    To be used as :class:`torch.optim.LBFGS`: ``step`` takes a closure that clears the gradients, computes the loss,
    calls ``backward`` and returns it. The loss must be a function of the parameters alone: all rows, no dropout. H is
    not in the state dict: it is collected again, which costs a few iterations.

    Parameters
    ----------
    params
        The parameters; there is one group.
    max_iter
        Iterations of one ``step``.
    history
        How many steps H remembers.
    tolerance_grad, tolerance_change
        It has converged where no entry of the gradient is larger than the first, or an iteration lowers the loss by
        less than the second times max(1, \|loss\|).

    Attributes
    ----------
    converged : bool
        Whether further calls of ``step`` change nothing.

    Examples
    --------
    >>> x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    >>> optimizer = WeakWolfeLBFGS([x])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> while not optimizer.converged:
    ...     _ = optimizer.step(closure)
    >>> x.detach().round(decimals=4).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        max_iter: int = 20,
        history: int = 10,
        tolerance_grad: float = 1e-9,
        tolerance_change: float = 1e-12,
    ) -> None:
        settings = {
            "max_iter": check_int(max_iter, "max_iter", 1, _MOST),
            "history": check_int(history, "history", 1, _MOST),
            "tolerance_grad": check_positive(tolerance_grad, "tolerance_grad"),
            "tolerance_change": check_positive(tolerance_change, "tolerance_change"),
        }
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError(f"params must be one group: all entries share H; got {len(self.param_groups)} groups")
        self._params: list[Tensor] = self.param_groups[0]["params"]
        self._past: deque[tuple[Tensor, Tensor]] = deque(maxlen=history)  # steps, changes of the gradient
        self.converged = False

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> float:  # type: ignore[override]
        """Take up to ``max_iter`` iterations; returns the loss where they end."""
        group = self.param_groups[0]
        here = self._evaluate(closure, self._gather())
        if not torch.isfinite(here.grad).all() or here.value != here.value:
            raise ValueError("the loss and its gradient must be finite where the search begins")
        for _ in range(group["max_iter"]):
            if self.converged or here.grad.abs().max() <= group["tolerance_grad"]:
                self.converged = True
                break
            there = self._iterate(closure, here)
            fall = here.value - there.value
            self.converged = fall <= group["tolerance_change"] * max(1.0, abs(here.value))
            here = there
        self._scatter(here.x)
        for param, grad in zip(self._params, self._split(here.grad), strict=True):
            param.grad = grad.clone()
        return here.value

    def _iterate(self, closure: Callable[[], Any], here: _Point) -> _Point:
        """The point after a line search along −H g; along −g where that leads nowhere."""
        for _ in range(2):
            way = -self._two_loops(here.grad)
            if not way @ here.grad < 0:
                self._past.clear()
                way = -here.grad
            length = 1.0 if self._past else min(_FIRST, _FIRST / float(way.norm()))
            there = self._search(closure, here, way, length)
            if there is not None:
                step, bend = there.x - here.x, there.grad - here.grad
                if step @ bend > torch.finfo(step.dtype).eps * bend.norm() * step.norm():
                    self._past.append((step, bend))
                return there
            if not self._past:
                break
            self._past.clear()
        return here

    def _search(self, closure: Callable[[], Any], here: _Point, way: Tensor, length: float) -> _Point | None:
        """A point that meets the weak Wolfe conditions, or one that falls enough; None if there is none."""
        slope, low, high, best = float(way @ here.grad), 0.0, float("inf"), None
        for _ in range(_MOST_TRIALS):
            there = self._evaluate(closure, here.x + length * way)
            if not there.value <= here.value + _C1 * length * slope or not torch.isfinite(there.grad).all():
                high = length
            else:
                best = there
                if float(way @ there.grad) >= _C2 * slope:
                    return there
                low = length
            length = 2 * low if high == float("inf") else 0.5 * (low + high)
        return best

    def _two_loops(self, grad: Tensor) -> Tensor:
        """Return H g, the approximate inverse Hessian times the gradient, by the two-loop recursion."""
        result, shares = grad, []
        for step, bend in reversed(self._past):
            shares.append((step @ result) / (step @ bend))
            result = result - shares[-1] * bend
        if self._past:
            step, bend = self._past[-1]
            result = result * ((step @ bend) / (bend @ bend))
        for (step, bend), share in zip(self._past, reversed(shares), strict=True):
            result = result + (share - (bend @ result) / (step @ bend)) * step
        return result

    def _evaluate(self, closure: Callable[[], Any], x: Tensor) -> _Point:
        self._scatter(x)
        with torch.enable_grad():
            loss = closure()
        value = float(loss.detach() if isinstance(loss, Tensor) else loss)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._params]
        return _Point(x, value, torch.cat([grad.detach().flatten() for grad in grads]))

    def _gather(self) -> Tensor:
        return torch.cat([param.detach().flatten() for param in self._params])

    def _split(self, x: Tensor) -> list[Tensor]:
        parts = torch.split(x, [param.numel() for param in self._params])
        return [part.view(param.shape) for part, param in zip(parts, self._params, strict=True)]

    def _scatter(self, x: Tensor) -> None:
        for param, part in zip(self._params, self._split(x), strict=True):
            param.copy_(part)

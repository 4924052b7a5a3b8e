"""How functions reach their operators: as registered ones where compilers watch, and by a shorter way elsewhere.

To call a registered operator costs about as much as the eigenvalues of a small batch. The shorter way has the same
formulas, but asks PyTorch a few things for which there is no public function; where a version lacks one of them, the
answer is the one that leads the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from torch.autograd import forward_ad

import torch
from torch import Tensor

_PLAIN = (Tensor, torch.nn.Parameter)


def is_tracing() -> bool:
    """Whether ``torch.jit.trace`` is recording."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def _private(path: str) -> Callable[..., Any]:
    """A function in PyTorch's private module, or one that always says yes."""
    try:
        return attrgetter(path)(torch._C)  # type: ignore[no-any-return]
    except AttributeError:
        return lambda *_: True


_has_transforms = _private("_are_functorch_transforms_active")
_has_modes = _private("_len_torch_dispatch_stack")
_is_legacy_batch = _private("_functorch.is_legacy_batchedtensor")  # of autograd.grad(..., is_grads_batched=True)


def _no_forward_mode(_: bool) -> Any:
    raise NotImplementedError("forward mode is not supported with this version of PyTorch: use torch.func.jacrev")


_forward_mode = getattr(forward_ad, "_set_fwd_grad_enabled", _no_forward_mode)


def differentiable(
    operator: Any, keep: Callable[..., None], backward: Callable[..., Any], forward: Callable[..., Any]
) -> Callable[..., Any]:
    """Register how an operator is differentiated, mapped and autocast, and return the function to call.

    ``keep(ctx, inputs, output)`` stores what derivatives need, ``backward(ctx, *grads)`` and ``forward(ctx, saved,
    *tangents)`` are those of reverse and forward mode. Compilers see the registered operator, ``torch.func`` an
    ``autograd.Function`` that can be nested, and everyone else a plain one, or the operator's own function.
    """
    function = getattr(operator, "_init_fn", operator)

    def plain_jvp(ctx: Any, *tangents: Any) -> Any:
        return forward(ctx, ctx.saved_tensors, *tangents)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with _forward_mode(True):  # PyTorch turns it off here, and an outer derivative of forward mode would be zero
            return forward(ctx, [_primal(tensor) for tensor in ctx.saved_tensors], *map(_primal, tangents))

    def mapped(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        outputs = call(*(_with_axis(arg, axis, info.batch_size) for arg, axis in zip(args, in_dims, strict=True)))
        return outputs, (0, 0) if isinstance(outputs, tuple) else 0

    def solved(*args: Any) -> Any:
        return operator(*args) if _is_watched(args) else function(*args)

    def kept(ctx: Any, *args: Any) -> Any:
        outputs = function(*args)
        keep(ctx, args, outputs)
        return outputs

    operator.register_autograd(backward, setup_context=keep)
    operator.register_vmap(mapped)
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.float32)
    short = _function(forward=kept, backward=backward, jvp=plain_jvp)
    nested = _function(forward=solved, setup_context=keep, backward=backward, vmap=mapped, jvp=jvp)

    def call(*args: Any) -> Any:
        if torch.compiler.is_compiling():
            return uncompiled(*args) if _has_duals() else operator(*args)
        if _has_transforms() and not is_tracing():
            return nested.apply(*args)
        if _is_watched(args):
            _refuse(args)
            return operator(*args)
        return short.apply(*args) if torch.is_grad_enabled() or _has_tangent(args) else function(*args)

    uncompiled = torch.compiler.disable(call)  # type: ignore[no-untyped-call]  # no operator has a forward mode
    return call


def save(ctx: Any, *tensors: Tensor) -> None:
    """Keep tensors for derivatives of both modes."""
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def _with_axis(arg: Any, axis: int | None, size: int) -> Any:
    """A tensor with the mapped axis first, and anything else as it is."""
    if not isinstance(arg, Tensor):
        return arg
    return arg.expand(size, *arg.shape) if axis is None else arg.movedim(axis, 0)


def _function(**parts: Callable[..., Any]) -> Any:
    return type("Eigen", (torch.autograd.Function,), {name: staticmethod(part) for name, part in parts.items()})


def _is_watched(args: tuple[Any, ...]) -> bool:
    """Whether a tracer, or a mode such as that of fake tensors, wants to see which operators are called."""
    return bool(is_tracing() or _has_modes() or any(_is_special(arg) for arg in args if isinstance(arg, Tensor)))


def _is_special(tensor: Tensor) -> bool:
    """Whether a tensor has no numbers of its own to work on."""
    return type(tensor) not in _PLAIN or tensor.is_meta or bool(_is_legacy_batch(tensor))


def _has_duals() -> bool:
    """Whether forward mode is at work at all."""
    return bool(getattr(forward_ad, "_current_level", 0) >= 0)


def _refuse(args: tuple[Any, ...]) -> None:
    """Raise where tangents would be lost: a registered operator of PyTorch drops them without a word."""
    if is_tracing():
        refuse_onnx()
    if _has_tangent(args):
        raise NotImplementedError("forward-mode derivatives are not supported under tracers and dispatch modes")


def refuse_onnx() -> None:
    """Raise where PyTorch translates a program to ONNX."""
    if torch.onnx.is_in_onnx_export():
        raise NotImplementedError(
            "ONNX has no operator for eigenvalues: use torch.export, whose programs run where PyTorch and lambdak are"
        )


def _has_tangent(args: tuple[Any, ...]) -> bool:
    """Whether an argument is a dual number of forward mode."""
    return _has_duals() and any(isinstance(arg, Tensor) and _unpacked(arg)[1] is not None for arg in args)


def _primal(tensor: Tensor | None) -> Tensor | None:
    """A dual number of forward mode without its tangent."""
    return None if tensor is None else _unpacked(tensor)[0]


def _unpacked(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """Primal and tangent."""
    try:
        return forward_ad.unpack_dual(tensor)  # type: ignore[no-any-return, no-untyped-call]
    except RuntimeError:  # a batch of ``is_grads_batched``, which has no tangent and cannot be asked
        return tensor, None

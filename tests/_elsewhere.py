"""A device that is not there, for machines without a GPU.

Its tensors say that they are on "meta", and compute on the CPU. They refuse what a GPU refuses:
to be mixed with tensors on the CPU, and, as Apple's, float64. Within `elsewhere` an estimator
takes it as `device="meta"`.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = "meta"


class Elsewhere(torch.Tensor):
    """A tensor on the device; its numbers are in `here`."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> "Elsewhere":
        return torch.Tensor._make_wrapper_subclass(
            cls,
            here.shape,
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=DEVICE,
            requires_grad=here.requires_grad,
        )

    def __init__(self, here: torch.Tensor):
        self.here = here

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})


class Watched(TorchDispatchMode):
    """Sees operations of which no argument is elsewhere, such as moves to the device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return run(function, args, kwargs or {})


def run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation, on the CPU, with its result where it would be."""
    with Watched():  # an operation that is made of others
        out = function.decompose(*args, **kwargs)
    if out is not NotImplemented:
        return out
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    n_there = sum(isinstance(t, Elsewhere) for t in tensors)
    n_here = sum(not isinstance(t, Elsewhere) and t.dim() > 0 for t in tensors)
    moves = "copy" in function.__name__
    if n_there and n_here and not moves:
        raise RuntimeError(f"Expected all tensors to be on the same device: {function}")
    device = kwargs.get("device")
    is_there = n_there > 0 if device is None else torch.device(device).type == DEVICE
    if is_there and device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}

    def inner(value: Any) -> Any:
        return value.here if isinstance(value, Elsewhere) else value

    def outer(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not is_there:
            return value
        if value.dtype == torch.float64:
            raise TypeError(f"float64 is not on this device: {function}")
        return Elsewhere(value)

    out = tree_map(outer, function(*tree_map(inner, args), **tree_map(inner, kwargs)))
    return return_and_correct_aliasing(function, args, kwargs, out) if n_there else out


class AnyGenerator(torch.Generator):
    """A generator on the CPU, whatever device it is asked for."""

    def __new__(cls, device: Any = "cpu") -> "AnyGenerator":
        return super().__new__(cls)


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """Make the device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "Generator", AnyGenerator)
        # views of such tensors cannot be made in inference mode
        patch.setattr(torch, "inference_mode", torch.no_grad)
        with Watched():
            yield

"""The device to compute on, and the precision."""

import copy

import torch
from torch import Tensor, nn

from .._warnings import warn_user
from ..model.module import EquiVAEModule

# All of X is kept on the GPU if it takes at most this fraction of the free memory.
DEVICE_PART = 0.5


def resolve_device(device: str, dtype: str) -> str:
    """Return the device, the best available one for "auto"; raise if it is not available."""
    if device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        if torch.backends.mps.is_available() and dtype != "float64":
            return "mps"
        return "cpu"
    try:
        torch.zeros(1, device=device, dtype=getattr(torch, dtype))
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"device={device!r} with dtype={dtype!r} is not available on this machine "
            f"({str(error).splitlines()[0]}). Use device='auto', or 'cpu'."
        ) from error
    return device


def resolve_amp(amp: bool | str, device: str, dtype: str) -> bool:
    """Return whether to compute bodies in bfloat16; for "auto" if CUDA supports it natively."""
    if amp == "auto":
        return (
            dtype == "float32"
            and device.startswith("cuda")
            and torch.cuda.is_bf16_supported(including_emulation=False)
        )
    return bool(amp)


def fits_on(n_bytes: int, device: str) -> bool:
    """Return whether data of this size can be kept on the device during training."""
    if not device.startswith("cuda"):
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes <= DEVICE_PART * free


def try_compile(network: nn.Module, example: Tensor) -> bool:
    """Compile a network in place if a copy of it can be compiled; otherwise warn.

    Parameters
    ----------
    network : torch.nn.Module
        The network.
    example : Tensor
        An input of the network. Later batches may have any size.

    Returns
    -------
    compiled : bool
        Whether it was compiled.
    """
    trial = copy.deepcopy(network).train()  # running the network may change its statistics
    try:
        trial.compile(dynamic=True)
        trial(example.clone().requires_grad_()).sum().backward()
    except Exception as error:  # a compiler, driver or operator may be missing
        message = str(error).strip().splitlines() or ["no message"]
        warn_user(
            f"compile=True needs what torch.compile needs, a working compiler first of all; got "
            f"{type(error).__name__}: {message[0]}. Training goes on without it."
        )
        return False
    network.compile(dynamic=True)
    return True


def set_precision(module: EquiVAEModule, amp: bool | str, compile: bool, like: Tensor) -> None:
    """Set mixed precision and compile the bodies, as `Networks.amp` and `compile` ask for."""
    use_amp = resolve_amp(amp, like.device.type, str(like.dtype).removeprefix("torch."))
    for part in module.parts:
        part.amp = use_amp
    if not compile:
        return
    x = torch.zeros((2, *module.input_shape), dtype=like.dtype, device=like.device)
    h = torch.zeros((2, module.decoder.dense.out_features), dtype=like.dtype, device=like.device)
    for part in module.parts:
        if not try_compile(part.body, h if part is module.decoder else x):
            break  # the others would fail as well

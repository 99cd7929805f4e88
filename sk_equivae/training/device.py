"""Where to compute, and in which precision."""

import copy
import warnings

import torch
from torch import Tensor, nn

from ..model.module import EquiVAEModule

# X is kept on a GPU as a whole if it takes at most this part of the free memory.
DEVICE_PART = 0.5


def resolve_device(device: str, dtype: str) -> str:
    """Return the best device there is for "auto"; check that another one is there."""
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
    """Return whether bodies compute in bfloat16; "auto": on CUDA devices made for it."""
    if amp == "auto":
        return (
            dtype == "float32"
            and device.startswith("cuda")
            and torch.cuda.is_bf16_supported(including_emulation=False)
        )
    return bool(amp)


def fits_on(n_bytes: int, device: str) -> bool:
    """Return whether data of this size may stay on the device for the whole training."""
    if not device.startswith("cuda"):
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes <= DEVICE_PART * free


def try_compile(network: nn.Module, example: Tensor) -> bool:
    """Compile a network in its place, if a copy of it can be compiled; warn if not.

    Parameters
    ----------
    network : torch.nn.Module
    example : Tensor
        Rows that it takes. Later batches may be of any size.

    Returns
    -------
    compiled : bool
    """
    trial = copy.deepcopy(network).train()  # running it may change its statistics
    try:
        trial.compile(dynamic=True)
        trial(example.clone().requires_grad_()).sum().backward()
    except Exception as error:  # whatever compiler, driver or operator is missing
        message = str(error).strip().splitlines() or ["no message"]
        warnings.warn(
            f"compile=True needs what torch.compile needs, a working compiler first of all; got "
            f"{type(error).__name__}: {message[0]}. Training goes on without it.",
            UserWarning,
            stacklevel=2,
        )
        return False
    network.compile(dynamic=True)
    return True


def set_precision(module: EquiVAEModule, amp: bool | str, compile: bool, like: Tensor) -> None:
    """Set up mixed precision and compiled bodies, as the user asked for."""
    use_amp = resolve_amp(amp, like.device.type, str(like.dtype).removeprefix("torch."))
    for part in module.parts:
        part.amp = use_amp
    if not compile:
        return
    x = torch.zeros((2, *module.input_shape), dtype=like.dtype, device=like.device)
    h = torch.zeros((2, module.decoder.dense.out_features), dtype=like.dtype, device=like.device)
    for part in module.parts:
        if not try_compile(part.body, h if part is module.decoder else x):
            break  # the others would fail alike

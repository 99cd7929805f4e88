"""Where to compute, in which precision, and how rows get there."""

import copy
import warnings

import torch
from torch import Tensor, nn

# X is kept on a GPU as a whole if it takes at most this part of the free memory.
DEVICE_PART = 0.5


def resolve_device(device: str, dtype: str) -> str:
    """ "auto" to the best device there is; another is checked to be there."""
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
    """Whether bodies compute in bfloat16. "auto": on CUDA devices that are made for it."""
    if amp == "auto":
        return (
            dtype == "float32"
            and device.startswith("cuda")
            and torch.cuda.is_bf16_supported(including_emulation=False)
        )
    return bool(amp)


def fits_on(n_bytes: int, device: str) -> bool:
    """Whether so many bytes may stay on the device for the whole of training."""
    if not device.startswith("cuda"):
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes <= DEVICE_PART * free


def to_device(rows: Tensor, like: Tensor) -> Tensor:
    """Rows where `like` is, and in its precision: not every device has float64.

    Integers stay what they are. A copy to a CUDA device is not waited for.
    """
    if rows.is_floating_point():
        rows = rows.to(like.dtype)
    if like.device.type != "cuda" or rows.device.type != "cpu":
        return rows.to(like.device)
    return rows.pin_memory().to(like.device, non_blocking=True)


def exact(values: Tensor) -> Tensor:
    """In float64, where the square of the largest float32 is finite, and so on the CPU."""
    return values.cpu().double()


def try_compile(network: nn.Module, example: Tensor) -> bool:
    """Compile a network in its place, if a copy of it can be compiled; warn if not.

    Parameters
    ----------
    network : torch.nn.Module
    example : Tensor
        Rows that it takes. Later batches may be of any size.
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

"""Random numbers that leave the state of PyTorch's global generators unchanged."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor


def dropout(h: Tensor, probability: float, generator: torch.Generator | None) -> Tensor:
    """Apply dropout with a given generator; without one return `h` as it is.

    `torch.nn.functional.dropout` draws from the global generator, which all threads of a
    process share.

    Parameters
    ----------
    h : Tensor
        The units.
    probability : float
        Probability of a unit to be set to 0.
    generator : torch.Generator or None
        Source of the random numbers.

    Returns
    -------
    h : Tensor
        The units that are left, scaled by 1 / (1 - probability).
    """
    if generator is None or probability == 0:
        return h
    # not by `bernoulli_`, whose numbers differ between builds of torch
    u = torch.rand(h.shape, generator=generator, device=h.device, dtype=h.dtype)
    return h * (u >= probability) / (1 - probability)


_GLOBAL_GENERATOR = threading.RLock()


@contextlib.contextmanager
def private_global_generator(seed: int, device: str = "cpu") -> Iterator[None]:
    """Seed PyTorch's global generators inside the context, and restore them afterwards.

    PyTorch's constructors and users' networks, for example with `nn.Dropout`, draw from the
    global generators. Only one thread at a time can be inside, so that none restores the
    generators while another one uses them.

    Parameters
    ----------
    seed : int
        The seed.
    device : str, default="cpu"
        The generator of this device is seeded too, if it is a CUDA device.
    """
    on_cuda = device.startswith("cuda")
    with _GLOBAL_GENERATOR, torch.cuda.device(device) if on_cuda else contextlib.nullcontext():
        cuda = [torch.cuda.current_device()] if on_cuda else []
        with torch.random.fork_rng(devices=cuda):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed all devices
            if on_cuda:
                torch.cuda.manual_seed(seed)
            yield

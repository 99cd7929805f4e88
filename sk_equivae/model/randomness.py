"""Noise from generators of our own, so that torch's global generators stay as they are."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import Tensor


def dropout(h: Tensor, probability: float, generator: torch.Generator | None) -> Tensor:
    """Drop units out, as `torch.nn.functional.dropout`, but with a generator of our own.

    PyTorch's version draws from the global generator, which all threads of a process
    share. Without a generator it is the identity.
    """
    if generator is None or probability == 0:
        return h
    keep = torch.empty_like(h).bernoulli_(1 - probability, generator=generator)
    return h * keep / (1 - probability)


_GLOBAL_GENERATOR = threading.RLock()


@contextlib.contextmanager
def private_global_generator(seed: int, device: str = "cpu") -> Iterator[None]:
    """Seed torch's global generators inside, and restore them after.

    Our own noise comes from generators of our own. PyTorch's constructors and users'
    networks (`nn.Dropout`, say) draw from the global ones. Threads take turns, so that none
    restores what another one has seeded.
    """
    on_cuda = device.startswith("cuda")
    with _GLOBAL_GENERATOR, torch.cuda.device(device) if on_cuda else contextlib.nullcontext():
        cuda = [torch.cuda.current_device()] if on_cuda else []
        with torch.random.fork_rng(devices=cuda):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed is for all devices
            if on_cuda:
                torch.cuda.manual_seed(seed)
            yield

"""Networks that the user gives: copied, and tried out."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

Shape = tuple[int, ...]


def own_network(network: nn.Module | Callable[..., nn.Module], *shapes: object) -> nn.Module:
    """Return a copy of a module, or the module that a class or function returns."""
    return copy.deepcopy(network if isinstance(network, nn.Module) else network(*shapes))


def output_for_zeros(name: str, network: nn.Module, in_shape: Shape, expected: str) -> Tensor:
    """Run a network on two rows of zeros, in eval mode to leave its statistics unchanged."""
    wanted = f"map a tensor of shape (2, {', '.join(map(str, in_shape))}) to {expected}"
    training = isinstance(network, nn.Module) and network.training
    try:
        with torch.no_grad():
            if isinstance(network, nn.Module):
                network.eval()
            out = network(torch.zeros((2, *in_shape)))
    except Exception as error:
        raise ValueError(
            f"The {name} {type(network).__name__} should {wanted}; it raised: {error}"
        ) from error
    if isinstance(network, nn.Module):
        network.train(training)
    if not isinstance(out, Tensor):
        raise ValueError(
            f"The {name} {type(network).__name__} should {wanted}; got {type(out).__name__}."
        )
    return out

"""Networks of PyTorch as a list of steps, which `network.js` runs in the browser.

A network is traced by `torch.fx`. A user's own networks therefore work too, as long as they are
made of the layers that `layers.py` knows.
"""

import copy
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from ..model.layers import Conv, UpConv
from .layers import FOLDABLE, NORMS, Description, Shape, describe_function, describe_layer, shape_of
from .packing import pack_weights, to_base64

# Layers that do nothing after training.
IDLE = (nn.Dropout, nn.Dropout2d, nn.Identity)


class UnknownLayerError(ValueError):
    """A network has a layer that the page cannot run."""


class _Tracer(fx.Tracer):
    """A tracer to which a convolution of this library is one layer."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, Conv | UpConv) or super().is_leaf_module(m, module_qualified_name)


def describe_network(network: nn.Module, *shapes: Shape) -> Description:
    """Describe a network as `network.js` reads it.

    Parameters
    ----------
    network : Module
        The network; a copy is put in eval mode.
    *shapes : tuple of int
        Shape of a row of each input.

    Returns
    -------
    network : dict
        The steps, with tensors as weights; `pack` makes JSON of them.
    """
    name = type(network).__name__
    network = copy.deepcopy(network).cpu().double().eval()
    try:
        with torch.enable_grad():  # without, the bodies of this library run fused
            graph = _Tracer().trace(network)
        traced = fx.GraphModule(network, graph)
        ShapeProp(traced).propagate(*(torch.zeros(2, *shape).double() for shape in shapes))
    except Exception as error:
        raise UnknownLayerError(f"{name} cannot be traced by torch.fx: {error}") from error
    return _describe_graph(traced)


def _describe_graph(traced: fx.GraphModule) -> Description:
    place: dict[Any, int] = {}  # of each value: first the inputs, then the steps
    steps: list[Description] = []
    n_inputs = sum(node.op == "placeholder" for node in traced.graph.nodes)
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            place[node] = len(place)
        elif node.op == "output":
            return {"n_inputs": n_inputs, "steps": steps, "output": place[node.args[0]]}
        elif isinstance(_layer(traced, node), IDLE):
            place[node] = place[node.args[0]]
        elif node not in place:
            step, folded = _describe_node(traced, node)
            place[node] = n_inputs + len(steps)
            if folded is not None:
                place[folded] = place[node]
            steps.append({**step, "from": [place[source] for source in _sources(node.args)]})
    raise UnknownLayerError("the network has no output")


def _describe_node(traced: fx.GraphModule, node: fx.Node) -> tuple[Description, fx.Node | None]:
    """Return the step of a node, and the batch normalisation that is folded into it."""
    layer, norm, folded = _layer(traced, node), None, None
    if layer is None:
        step = describe_function(node) if node.op != "get_attr" else None
    else:
        users = list(node.users)
        if isinstance(layer, FOLDABLE) and len(users) == 1:
            norm = _layer(traced, users[0])
            folded = users[0] if isinstance(norm, NORMS) else None
        norm = None if folded is None else norm
        step = describe_layer(layer, norm, shape_of(node.args[0]), shape_of(node))
    if step is None:
        raise UnknownLayerError(f"the page has no step for {layer or node.target}")
    return step, folded


def _layer(traced: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    """Return the layer that a node calls; None if it calls none."""
    return traced.get_submodule(str(node.target)) if node.op == "call_module" else None


def _sources(args: Any) -> list[fx.Node]:
    """Return the values among the arguments of a call, in order."""
    if isinstance(args, fx.Node):
        return [args]
    return (
        [source for arg in args for source in _sources(arg)]
        if isinstance(args, tuple | list)
        else []
    )


def count_weights(network: Description) -> int:
    """Return the number of weights of a network."""
    return sum(step["weight"].numel() for step in network["steps"] if "weight" in step)


def pack(network: Description, n_digits: int) -> Description:
    """Return the description of a network with its weights as text.

    Parameters
    ----------
    network : dict
        What `describe_network` returned.
    n_digits : {3, 4}
        Characters per weight.

    Returns
    -------
    network : dict
        The same, ready for JSON.
    """

    def packed(name: str, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        array = value.detach().numpy()
        return pack_weights(array, n_digits) if name == "weight" else to_base64(array)

    steps = [
        {name: packed(name, value) for name, value in step.items()} for step in network["steps"]
    ]
    return {**network, "steps": steps}

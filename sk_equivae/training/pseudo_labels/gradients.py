"""What an image looks like to the graph of neighbours: the directions of its edges.

Two images of a class often differ by a shift of a pixel or by their light. Then their pixels differ
a lot, and the edges in each part of the image do not.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

N_DIRECTIONS = 8
# Parts of the image per side, at most, over which edges are averaged.
N_PARTS = 9
# Width over which edges are smoothed, twice, relative to a part.
SMOOTHING = 0.6


def oriented_gradients(x: Tensor) -> Tensor:
    r"""Return how strong the edges of each direction are in each part of an image.

    .. math:: f_{k} = \overline{\max(0, \, \cos\theta_k \, \partial_1 x
              + \sin\theta_k \, \partial_2 x)}

    for 8 directions :math:`\theta_k`, averaged over parts of the image, and divided by the length
    of all f of the image. These are histograms of oriented gradients (Dalal and Triggs, 2005). In
    images of several channels, where light may be on either side of an edge, the absolute value
    replaces the maximum, and at every pixel the channel with the strongest edge counts.

    Parameters
    ----------
    x : Tensor of shape (n, n_channels, height, width)
        Images.

    Returns
    -------
    features : Tensor of shape (n, n_features)
        Numbers that are not negative; at most 8 times 81 per image.

    Examples
    --------
    >>> import torch
    >>> image = torch.zeros(1, 1, 28, 28)
    >>> image[..., 12:16] = 1.0  # an upright stroke
    >>> shifted = 0.5 * image.roll(1, dims=3)
    >>> (image - shifted).norm() / image.norm()
    tensor(0.7071)
    >>> (oriented_gradients(image) - oriented_gradients(shifted)).norm()
    tensor(0.4004)
    """
    padded = F.pad(x, (1, 1, 1, 1), mode="replicate")
    across = padded[..., 1:-1, 2:] - padded[..., 1:-1, :-2]
    down = padded[..., 2:, 1:-1] - padded[..., :-2, 1:-1]
    strongest = (across.square() + down.square()).argmax(dim=1, keepdim=True)
    across, down = across.gather(1, strongest), down.gather(1, strongest)  # (n, 1, h, w)
    is_signed = x.shape[1] == 1
    full_turn = 2 * math.pi if is_signed else math.pi
    angles = (full_turn / N_DIRECTIONS * torch.arange(N_DIRECTIONS)).to(x)[:, None, None]
    edges = angles.cos() * across + angles.sin() * down  # (n, 8, h, w)
    edges = edges.clamp(min=0.0) if is_signed else edges.abs()
    height, width = x.shape[2:]
    n_parts = min(N_PARTS, height), min(N_PARTS, width)
    reach = [round(SMOOTHING * size / n / 2) for size, n in zip(x.shape[2:], n_parts, strict=True)]
    for _ in range(2):
        edges = F.avg_pool2d(edges, [2 * n + 1 for n in reach], 1, reach)
    features = F.adaptive_avg_pool2d(edges, n_parts).flatten(1)
    return F.normalize(features)

"""What is made of q(y | x) of unlabelled rows before the objective uses it."""

import torch
from torch import Tensor

from .source import normalized


def truncate(q_y: Tensor, threshold: float, max_classes: int) -> Tensor:
    """Return q(y | x) without the classes below `threshold`, normalised again.

    Eq. 6 holds for any q(y | x), so with the truncated one it is still a bound, and
    classes of probability 0 need not be decoded. The most probable class stays. At most
    `max_classes` stay: at the start of training all classes are plausible, and decoding
    all of them teaches little. The threshold 0 is the exact sum.

    Examples
    --------
    >>> import torch
    >>> q_y = torch.tensor([[0.75, 0.2495, 0.0004, 0.0001], [0.4, 0.3, 0.2, 0.1]])
    >>> truncate(q_y, 1e-2, max_classes=3)
    tensor([[0.7504, 0.2496, 0.0000, 0.0000],
            [0.4444, 0.3333, 0.2222, 0.0000]])
    """
    if threshold <= 0:
        return q_y
    most = q_y.topk(min(max_classes, q_y.shape[1]), dim=1).values
    keep = (q_y >= most[:, :1].clamp(max=threshold)) & (q_y >= most[:, -1:])
    return normalized(q_y * keep)


def confident_targets(y: Tensor, q_y: Tensor, confidence: float) -> Tensor:
    """Return codes of labelled rows and of unlabelled rows of a confident q(y | x), else -1."""
    probability, code = q_y.detach().max(dim=1)
    return torch.where(y >= 0, y, torch.where(probability >= confidence, code, -1))

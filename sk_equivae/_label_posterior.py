"""What is made of q(y | x) of unlabelled rows before the objective uses it."""

import torch
from torch import Tensor

# Of so many classes, at most, an unlabelled row is decoded.
MAX_PLAUSIBLE = 3

# A class counts as named at least so often when q(y | x) is aligned.
SMALLEST_MEAN = 1e-3


def truncate(q_y: Tensor, threshold: float) -> Tensor:
    """q(y | x) without the classes below `threshold`, normalised again.

    Eq. 6 holds for any q(y | x), so with the truncated one it is still a bound;
    classes of probability 0 need not be decoded. The most probable class stays, and
    not more than the `MAX_PLAUSIBLE` most probable: at the start of training all classes
    are plausible, and decoding them all teaches little. The threshold 0 is the exact sum.

    Examples
    --------
    >>> import torch
    >>> truncate(torch.tensor([[0.75, 0.2495, 0.0004, 0.0001], [0.4, 0.3, 0.2, 0.1]]), 1e-2)
    tensor([[0.7504, 0.2496, 0.0000, 0.0000],
            [0.4444, 0.3333, 0.2222, 0.0000]])
    """
    if threshold <= 0:
        return q_y
    most = q_y.topk(min(MAX_PLAUSIBLE, q_y.shape[1]), dim=1).values
    keep = (q_y >= most[:, :1].clamp(max=threshold)) & (q_y >= most[:, -1:])
    q_y = q_y * keep
    return q_y / q_y.sum(dim=1, keepdim=True)


def align(q_y: Tensor, mean_q_y: Tensor, log_prior: Tensor) -> Tensor:
    r"""q(y | x), corrected for classes that it names more or less often than p(y) does.

    .. math:: \tilde q(y|x) \propto q(y|x) \, p(y) / \bar q(y)

    With :math:`\bar q(y)`, the mean over unlabelled rows, this is the distribution alignment of
    ReMixMatch: a class that has been taken for another gets rows back.

    Examples
    --------
    >>> import torch
    >>> often = torch.tensor([0.8, 0.2])  # the first class is named too often
    >>> align(torch.tensor([[0.5, 0.5]]), often, torch.tensor([0.5, 0.5]).log())
    tensor([[0.2000, 0.8000]])
    """
    q_y = q_y * (log_prior.exp() / mean_q_y.clamp(min=SMALLEST_MEAN))
    return q_y / q_y.sum(dim=1, keepdim=True)


def combine(q_y: Tensor, posterior: Tensor) -> Tensor:
    r"""q(y | x), and what is known of y from elsewhere, as independent evidence.

    .. math:: \tilde q(y|x) \propto q(y|x) \, g(y|x)

    Examples
    --------
    >>> import torch
    >>> combine(torch.tensor([[0.6, 0.4]]), torch.tensor([[0.1, 0.9]]))
    tensor([[0.1429, 0.8571]])
    """
    q_y = q_y * posterior
    return q_y / q_y.sum(dim=1, keepdim=True)


def confident_targets(y: Tensor, q_y: Tensor, confidence: float) -> Tensor:
    """Codes of labelled rows and of unlabelled rows of a confident q(y | x), else -1."""
    probability, code = q_y.detach().max(dim=1)
    return torch.where(y >= 0, y, torch.where(probability >= confidence, code, -1))

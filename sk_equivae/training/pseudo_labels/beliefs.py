"""Steps between the class probabilities q(y | x) of unlabelled rows and the objective."""

import torch
from torch import Tensor

from .source import normalized


def truncate(q_y: Tensor, threshold: float, max_classes: int) -> Tensor:
    """Return q(y | x) without improbable classes, normalised again.

    Eq. 6 is a bound for any q(y | x), also for a truncated one, and classes of probability 0
    need not be decoded. The most probable class is always kept.

    Parameters
    ----------
    q_y : Tensor of shape (n, n_classes)
        Class probabilities.
    threshold : float
        Classes below this probability are left out. With 0 all classes are kept.
    max_classes : int
        At most this many classes are kept per row. It limits the cost at the start of
        training, when all classes are plausible and decoding all of them teaches little.

    Returns
    -------
    q_y : Tensor of shape (n, n_classes)
        Probabilities that sum to 1 in each row.

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
    """Return one class code per row, and -1 for unlabelled rows that are not confident.

    Parameters
    ----------
    y : Tensor of shape (n,)
        Class codes; -1 for unlabelled rows.
    q_y : Tensor of shape (n, n_classes)
        Class probabilities.
    confidence : float
        An unlabelled row gets its most probable class if the probability is at least this.

    Returns
    -------
    codes : Tensor of shape (n,)
        The class codes.
    """
    probability, code = q_y.detach().max(dim=1)
    return torch.where(y >= 0, y, torch.where(probability >= confidence, code, -1))

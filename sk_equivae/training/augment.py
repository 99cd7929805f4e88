"""Augmentation: random changes to rows that do not change their class."""

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import torch
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from torch import Tensor

from ..model.mixed import Layout
from .pictures import Photographic, RandomAffine

Augment = Callable[[Tensor, torch.Generator], Tensor]


class SwapFeatures(BaseEstimator):
    """Replace some features of each tabular row by those of random other rows of the batch.

    The values that belong to one column of a table, the block of a category or a number and the
    mark of its missing values, are replaced together.

    Parameters
    ----------
    fraction : float, default=0.1
        Probability that a feature is replaced.

    Examples
    --------
    >>> import torch
    >>> from sk_equivae import SwapFeatures
    >>> SwapFeatures(fraction=0.0)(torch.ones(2, 3), torch.Generator())
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "fraction": [Interval(Real, 0, 1, closed="both")]
    }

    def __init__(self, fraction: float = 0.1):
        self.fraction = fraction

    def __call__(
        self, x: Tensor, generator: torch.Generator, layout: Layout | None = None
    ) -> Tensor:
        """Return augmented rows.

        Parameters
        ----------
        x : Tensor of shape (n, n_features)
            The rows.
        generator : torch.Generator
            Source of the random numbers.
        layout : Layout, optional
            Where the columns of a table are in a row. By default each feature is a column.

        Returns
        -------
        x : Tensor of shape (n, n_features)
            The augmented rows.
        """
        shape = x.shape if layout is None else (len(x), layout.n_columns)
        u = torch.rand(shape, generator=generator, device=x.device, dtype=x.dtype)
        other = torch.randint(len(x), shape, generator=generator, device=x.device)
        if layout is not None:
            columns = torch.tensor(layout.column_of_input, device=x.device)
            u, other = u[:, columns], other[:, columns]  # (n, n_columns) before
        return torch.where(u < self.fraction, x.gather(0, other), x)


class _UserAugment:
    """Wrapper of a user's callable, which takes no generator; checks its result."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        self.function = function

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        changed = self.function(x)
        if not isinstance(changed, Tensor) or changed.shape != x.shape:
            got = tuple(changed.shape) if isinstance(changed, Tensor) else type(changed).__name__
            raise ValueError(
                f"augment should return a tensor of the shape {tuple(x.shape)} that it was "
                f"given; got {got}."
            )
        return changed


NAMED_AUGMENTS: dict[str, Callable[[], Augment]] = {
    "affine": RandomAffine,
    "photographic": Photographic,
    "swap": SwapFeatures,
}


def make_augment(
    augment: Any,
    is_image: bool,
    any_unlabeled: bool,
    layout: Layout | None = None,
    photographs: bool = False,
) -> Augment | None:
    """Return the augmentation that the parameter `augment` stands for, or None.

    Parameters
    ----------
    augment : str, callable or None
        The parameter. "auto" is "photographic" for photographs and "affine" for other images;
        for tabular rows it is "swap" if some rows are unlabelled, else None.
    is_image : bool
        Whether rows are images.
    any_unlabeled : bool
        Whether some rows are unlabelled.
    layout : Layout, optional
        Where the columns of a table are in a row.
    photographs : bool
        Whether rows are photographs.

    Returns
    -------
    augment : callable or None
        Takes a batch and a generator, and returns a batch.
    """
    if isinstance(augment, str) and augment == "auto":
        augment = "affine" if is_image else "swap" if any_unlabeled else None
        augment = "photographic" if photographs else augment
    if isinstance(augment, str):
        augment = NAMED_AUGMENTS[augment]()
    for kind, fits, expected in (
        (RandomAffine, is_image, "images; got tabular rows. Set `image_shape` if rows are "
         "flattened images"),
        (SwapFeatures, not is_image, "tabular rows; got images"),
    ):  # fmt: skip
        if isinstance(augment, kind) and not fits:
            raise ValueError(
                f"augment={type(augment).__name__} needs {expected}, or use augment='auto' or None."
            )
    if isinstance(augment, SwapFeatures) and layout is not None:
        return functools.partial(augment, layout=layout)
    if augment is None or isinstance(augment, RandomAffine | SwapFeatures):
        return augment
    return _UserAugment(augment)

"""Augmentation: random changes to rows that do not change their class."""

import functools
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from torch import Tensor

from ..model.mixed import Layout

Augment = Callable[[Tensor, torch.Generator], Tensor]


class RandomAffine(BaseEstimator):
    """Rotate, scale, shear and shift each image at random.

    Each amount is drawn uniformly between minus and plus the given maximum. With the defaults
    handwriting stays readable. Use smaller values if classes differ in position or angle.

    Parameters
    ----------
    rotation : float, default=20
        Largest angle, in degrees.
    scale : float, default=0.15
        Largest logarithm of the scaling factor, drawn separately for height and width.
    shear : float, default=0.2
        Largest shear: the shift of a point relative to its distance from the centre line.
    shift : float, default=0.1
        Largest shift, as a fraction of the size of the image.

    Examples
    --------
    >>> import torch
    >>> from sk_equivae import RandomAffine
    >>> RandomAffine(rotation=10)(torch.zeros(2, 1, 8, 8), torch.Generator()).shape
    torch.Size([2, 1, 8, 8])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: [Interval(Real, 0, None, closed="left")]
        for name in ("rotation", "scale", "shear", "shift")
    }

    def __init__(
        self, rotation: float = 20, scale: float = 0.15, shear: float = 0.2, shift: float = 0.1
    ):
        self.rotation = rotation
        self.scale = scale
        self.shear = shear
        self.shift = shift

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return augmented images.

        Parameters
        ----------
        x : Tensor of shape (n, c, h, w)
            The images.
        generator : torch.Generator
            Source of the random numbers.

        Returns
        -------
        x : Tensor of shape (n, c, h, w)
            The augmented images.
        """
        u = torch.rand((6, len(x)), generator=generator, device=x.device, dtype=x.dtype) * 2 - 1
        angle, shear = math.radians(self.rotation) * u[0], self.shear * u[1]
        cos, sin = angle.cos(), angle.sin()
        scale_x, scale_y = (self.scale * u[2]).exp(), (self.scale * u[3]).exp()
        shift = 2 * self.shift  # the unit of `affine_grid` is half of the size
        # rotation @ shear @ scale, and the shift: (n, 2, 3)
        theta = torch.stack(
            [
                torch.stack([cos * scale_x, (cos * shear - sin) * scale_y, shift * u[4]], dim=1),
                torch.stack([sin * scale_x, (sin * shear + cos) * scale_y, shift * u[5]], dim=1),
            ],
            dim=1,
        )
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


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


NAMED_AUGMENTS: dict[str, Callable[[], Augment]] = {"affine": RandomAffine, "swap": SwapFeatures}


def make_augment(
    augment: Any, is_image: bool, any_unlabeled: bool, layout: Layout | None = None
) -> Augment | None:
    """Return the augmentation that the parameter `augment` stands for, or None.

    Parameters
    ----------
    augment : str, callable or None
        The parameter. "auto" is "affine" for images; for tabular rows it is "swap" if some
        rows are unlabelled, else None.
    is_image : bool
        Whether rows are images.
    any_unlabeled : bool
        Whether some rows are unlabelled.
    layout : Layout, optional
        Where the columns of a table are in a row.

    Returns
    -------
    augment : callable or None
        Takes a batch and a generator, and returns a batch.
    """
    if isinstance(augment, str) and augment == "auto":
        augment = "affine" if is_image else "swap" if any_unlabeled else None
    if isinstance(augment, str):
        augment = NAMED_AUGMENTS[augment]()
    for kind, fits, expected in (
        (RandomAffine, is_image, "images; got tabular rows. Set `image_shape` if rows are "
         "flattened images"),
        (SwapFeatures, not is_image, "tabular rows; got images"),
    ):  # fmt: skip
        if isinstance(augment, kind) and not fits:
            raise ValueError(
                f"augment={kind.__name__} needs {expected}, or use augment='auto' or None."
            )
    if isinstance(augment, SwapFeatures) and layout is not None:
        return functools.partial(augment, layout=layout)
    if augment is None or isinstance(augment, RandomAffine | SwapFeatures):
        return augment
    return _UserAugment(augment)

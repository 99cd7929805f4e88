"""Random changes to a batch that leave the classes as they are."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ROTATION = math.radians(20)
SCALE = 0.15
SHEAR = 0.2
SHIFT = 0.2  # of half the image's width, as `affine_grid` measures

# What part of the features of a tabular row is taken from another row.
SWAPPED = 0.1


def random_affine(x: Tensor, generator: torch.Generator) -> Tensor:
    """A random rotation, scaling, shear and shift of each image.

    Parameters
    ----------
    x : Tensor of shape (n, c, h, w)
    generator : torch.Generator
    """
    u = torch.rand((6, len(x)), generator=generator, device=x.device, dtype=x.dtype) * 2 - 1
    angle, shear = ROTATION * u[0], SHEAR * u[1]
    cos, sin = angle.cos(), angle.sin()
    scale_x, scale_y = (SCALE * u[2]).exp(), (SCALE * u[3]).exp()
    # rotation @ shear @ scale, and the shift: (n, 2, 3)
    theta = torch.stack(
        [
            torch.stack([cos * scale_x, (cos * shear - sin) * scale_y, SHIFT * u[4]], dim=1),
            torch.stack([sin * scale_x, (sin * shear + cos) * scale_y, SHIFT * u[5]], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


def swap_features(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each feature of a tabular row is, now and then, that of another row of the batch.

    Parameters
    ----------
    x : Tensor of shape (n, n_features)
    generator : torch.Generator
    """
    u = torch.rand(x.shape, generator=generator, device=x.device, dtype=x.dtype)
    other = torch.randint(len(x), x.shape, generator=generator, device=x.device)
    return torch.where(u < SWAPPED, x.gather(0, other), x)


class _Plain:
    """A user's callable, which takes no generator."""

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


def make_augment(
    augment: Any, is_image: bool, has_unlabeled: bool
) -> Callable[[Tensor, torch.Generator], Tensor] | None:
    """The function behind the parameter `augment`.

    "auto" is "affine" for images; for tabular rows it is `swap_features` if some
    are unlabelled, else nothing.
    """
    if augment is None:
        return None
    if augment == "auto":
        if is_image:
            return random_affine
        return swap_features if has_unlabeled else None
    if augment == "affine":
        if not is_image:
            raise ValueError(
                "augment='affine' needs images; got tabular rows. Set `image_shape` if rows "
                "are flattened images, or use augment='auto' or None."
            )
        return random_affine
    return _Plain(augment)

"""Augmentation of images: random changes of position and colour."""

import math
from numbers import Real
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from torch import Tensor

_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_FRACTION = Interval(Real, 0, 1, closed="both")


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
        name: [_NOT_NEGATIVE] for name in ("rotation", "scale", "shear", "shift")
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


class Photographic(RandomAffine):
    """Change position, colours and polarity of each photograph, and cover a part of it.

    All amounts are drawn separately for each image. Sizes are fractions of the image, so the same
    values suit any resolution. With the defaults digits and objects stay recognisable. Set a
    field to 0 if its change would turn one class into another: `invert` and `offset` if classes
    differ in brightness or colour, `rotation` if they differ in angle.

    Parameters
    ----------
    rotation : float, default=12
        Largest angle, in degrees.
    scale : float, default=0.15
        Largest logarithm of the scaling factor, drawn separately for height and width.
    shear : float, default=0
        Largest shear: the shift of a point relative to its distance from the centre line.
    shift : float, default=0.06
        Largest shift, as a fraction of the size of the image.
    gain : float, default=0.3
        Each channel is multiplied by a factor between 1 - gain and 1 + gain.
    offset : float, default=0.3
        Largest number that is added to a channel, in standard deviations of the channel.
    invert : float in [0, 1], default=0.3
        Probability that light and dark are exchanged.
    cut_out : float in [0, 1], default=0.3
        Side of a square that is replaced by the mean colour, as a fraction of the size of the
        image. Its centre may be anywhere, so part of it may lie outside.
    flip : float in [0, 1], default=0
        Probability that left and right are exchanged. Set it to 0.5 for objects that may face
        either side. Digits and letters do not survive it.

    Examples
    --------
    >>> import torch
    >>> from sk_equivae import Photographic
    >>> Photographic(invert=0)(torch.zeros(2, 3, 32, 32), torch.Generator()).shape
    torch.Size([2, 3, 32, 32])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RandomAffine._parameter_constraints,
        "gain": [_NOT_NEGATIVE],
        "offset": [_NOT_NEGATIVE],
        "invert": [_FRACTION],
        "cut_out": [_FRACTION],
        "flip": [_FRACTION],
    }

    def __init__(
        self,
        rotation: float = 12,
        scale: float = 0.15,
        shear: float = 0.0,
        shift: float = 0.06,
        gain: float = 0.3,
        offset: float = 0.3,
        invert: float = 0.3,
        cut_out: float = 0.3,
        flip: float = 0.0,
    ):
        super().__init__(rotation, scale, shear, shift)
        self.gain = gain
        self.offset = offset
        self.invert = invert
        self.cut_out = cut_out
        self.flip = flip

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return augmented images.

        Parameters
        ----------
        x : Tensor of shape (n, c, h, w)
            The images, each channel with mean 0 and variance 1 over the data.
        generator : torch.Generator
            Source of the random numbers.

        Returns
        -------
        x : Tensor of shape (n, c, h, w)
            The augmented images.
        """
        n_rows, n_channels, *size = x.shape

        def draw(*shape: int) -> Tensor:
            return torch.rand(shape, generator=generator, device=x.device, dtype=x.dtype)

        x = super().__call__(x, generator)
        gain = 1 + self.gain * (2 * draw(n_rows, n_channels, 1, 1) - 1)
        offset = self.offset * (2 * draw(n_rows, n_channels, 1, 1) - 1)
        flipped, inverted = draw(2, n_rows, 1, 1, 1)
        if self.flip:
            x = torch.where(flipped < self.flip, x.flip(3), x)
        x = x * torch.where(inverted < self.invert, -gain, gain) + offset
        for_square = draw(2, n_rows, 1)
        near = [
            (torch.arange(n, device=x.device) + 0.5 - n * center).abs() < n * self.cut_out / 2
            for n, center in zip(size, for_square, strict=True)
        ]  # rows and columns of the square: (n_rows, h) and (n_rows, w)
        covered = near[0][:, None, :, None] & near[1][:, None, None, :]
        return x.masked_fill(covered, 0.0)

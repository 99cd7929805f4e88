"""The user's rows as the networks see them, and back.

X stays where and what it is (a memory map, uint8, float64): rows are copied, converted and
moved one batch at a time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Normalised values are clipped here. No row of any data set lies outside, and one that
# does must not give infinities.
LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class RowSpec:
    """A row of X, as the user gives it and as the networks see it.

    Attributes
    ----------
    row_shape : tuple
        The shape of a row of the user's X.
    input_shape : tuple
        `(channels, height, width)` or `(n_features,)`.
    dtype : numpy dtype
        Of the user's X; generated rows come back in it.
    likelihood : {"bernoulli", "gaussian"}
    max_value : float
        The value that a Bernoulli takes for 1: 255 in uint8, unless X holds only 0 and 1.
    shift, scale : ndarray
        The networks see `(x - shift) / scale`. In float64, whatever the dtype of the
        networks, so that a feature with a large offset keeps its digits.
    value_range : (float, float)
        Smallest and largest value of X in `fit`.
    """

    row_shape: tuple[int, ...]
    input_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    likelihood: str
    max_value: float
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    value_range: tuple[float, float]

    @property
    def is_image(self) -> bool:
        """Whether a row is an image."""
        return len(self.input_shape) == 3

    def normalize(self, X: Tensor, dtype: torch.dtype) -> Tensor:
        """Turn flat rows in the user's units into what the networks see.

        Floats are normalised in float64 where they are. Bytes hold every digit in any
        dtype, so they are normalised in `dtype`, on the device they have been moved to.
        """
        x = X
        if self.is_image:
            channels, height, width = self.input_shape
            # (n, h, w, c) seen as (n, c, h, w): channels last in memory
            x = x.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
        precision = torch.float64 if x.is_floating_point() else dtype
        shift, scale = (
            torch.as_tensor(value, dtype=precision, device=x.device)
            for value in (self.shift, self.scale)
        )
        x = x.to(precision) - shift
        return x.div_(scale).clamp_(-LARGEST, LARGEST).to(dtype)

    def denormalize(self, x: Tensor) -> NDArray[Any]:
        """Turn what the decoder returns into rows of the user's shape, units and dtype."""
        X = x.cpu().double().numpy() * self.scale + self.shift
        if self.is_image:
            X = X.transpose(0, 2, 3, 1)  # channels last
        X = X.reshape(len(X), *self.row_shape)
        if self.dtype == np.uint8:
            X = X.round().clip(0, 255)
        return X.astype(self.dtype)


class NormalizedRows:
    """Rows of X, normalised when they are asked for.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    spec : RowSpec
    like : Tensor
        Gives the device and the dtype.
    rows : ndarray of int, optional
        The rows of X that count; all of them by default.
    """

    def __init__(
        self, X: NDArray[Any], spec: RowSpec, like: Tensor, rows: NDArray[np.intp] | None = None
    ):
        self.X = X
        self.spec = spec
        self.like = like
        self.rows = rows
        self.on_device: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X if self.rows is None else self.rows)

    def __getitem__(self, index: slice | NDArray[np.intp]) -> Tensor:
        if self.rows is not None:
            index = self.rows[index]
        if self.on_device is not None:
            x = self.on_device[index if isinstance(index, slice) else torch.from_numpy(index)]
            return x if x.is_floating_point() else self.spec.normalize(x, self.like.dtype)
        # rows picked by number are a copy already; a slice may be of a read-only array
        X = torch.from_numpy(np.array(self.X[index]) if isinstance(index, slice) else self.X[index])
        if X.is_floating_point():
            return to_device(self.spec.normalize(X, self.like.dtype), self.like)
        return self.spec.normalize(to_device(X, self.like), self.like.dtype)

    def keep_on_device(self) -> None:
        """Keep all rows on the device, where they should fit: bytes, or normalised floats."""
        X = torch.from_numpy(np.array(self.X))
        if X.is_floating_point():
            X = self.spec.normalize(X, self.like.dtype)
        self.on_device = X.to(self.like.device)


def to_device(values: Tensor, like: Tensor) -> Tensor:
    """Move values to the device of `like`; floats get its dtype, integers stay.

    Not every device has float64. A copy to a CUDA device is not waited for.
    """
    if values.is_floating_point():
        values = values.to(like.dtype)
    if like.device.type != "cuda" or values.device.type != "cpu":
        return values.to(like.device)
    return values.pin_memory().to(like.device, non_blocking=True)

"""Conversion between the user's rows and the normalised rows that the networks take.

X itself is never converted as a whole: it may be a memory map, or hold bytes. Rows are copied,
normalised and moved to the device one batch at a time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model.mixed import Layout
from .columns import Columns
from .compact import Positions
from .limits import Limits

# Normalised values are clipped to [-LARGEST, LARGEST], so that extreme values do not lead to
# infinities.
LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class RowSpec:
    """Shape, dtype and scaling of rows, in the user's X and in the networks.

    Attributes
    ----------
    row_shape : tuple
        Shape of a row of the user's X.
    input_shape : tuple
        Shape of a row in the networks: `(channels, height, width)` or `(n_features,)`.
    dtype : numpy dtype
        Dtype of the user's X, and of generated rows.
    likelihood : {"bernoulli", "gaussian", "mixed"}
        Distribution of a pixel or feature; "mixed" for tables with categories or missing values.
    max_value : float
        The value that stands for 1: 255 for uint8, unless X holds only 0 and 1; otherwise 1.
    shift, scale : ndarray
        The networks take `(x - shift) / scale`. Both are float64, so that a feature with a
        large offset does not lose precision.
    value_range : (float, float)
        Smallest and largest value of X in `fit`.
    columns : Columns or None
        The columns of a table. None for images, and for arrays of numbers without gaps.
    limits : Limits or None
        What the columns of such an array can hold. None for images, and if `columns` says it.
    """

    row_shape: tuple[int, ...]
    input_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    likelihood: str
    max_value: float
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    value_range: tuple[float, float]
    columns: Columns | None = None
    limits: Limits | None = None

    @property
    def is_image(self) -> bool:
        """Whether a row is an image."""
        return len(self.input_shape) == 3

    @property
    def layout(self) -> Layout | None:
        """Where the columns of a table are in a row of the networks, if not in their order."""
        return None if self.columns is None else self.columns.layout

    def normalize(self, X: Tensor, dtype: torch.dtype) -> Tensor:
        """Return flat rows of the user's X as the networks take them.

        Floats are normalised in float64, before they are moved to the device. Bytes are exact
        in any float dtype and are normalised in `dtype`, after they have been moved.

        Parameters
        ----------
        X : Tensor of shape (n, n_features)
            Flat rows, in the user's units.
        dtype : torch.dtype
            Dtype of the networks.

        Returns
        -------
        x : Tensor of shape (n, *input_shape)
            The normalised rows.
        """
        x = X
        if self.is_image:
            channels, height, width = self.input_shape
            # a view of (n, h, w, c) as (n, c, h, w), which keeps channels last in memory
            x = x.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
        # Bytes of a Bernoulli are divided alike in any dtype. Not every device has float64.
        exact = x.is_floating_point() or (self.likelihood != "bernoulli" and x.device.type == "cpu")
        precision = torch.float64 if exact else dtype
        shift, scale = (
            torch.as_tensor(value, dtype=precision, device=x.device)
            for value in (self.shift, self.scale)
        )
        if self.columns is not None and self.layout is not None:
            return self.columns.normalize(x.to(precision), shift, scale, LARGEST).to(dtype)
        x = x.to(precision) - shift
        # beyond [0, 1] the likelihood of a Bernoulli would have no upper bound
        least, most = (0.0, 1.0) if self.likelihood == "bernoulli" else (-LARGEST, LARGEST)
        return x.div_(scale).clamp_(least, most).to(dtype)

    def denormalize(self, x: Tensor) -> NDArray[Any]:
        """Return outputs of the decoder in the shape, units and dtype of the user's X.

        The columns of a table stay integer, non-negative or constant; see `Limits`.
        """
        if self.columns is not None:
            X = self.columns.denormalize(x.cpu().double().numpy(), self.shift, self.scale)
            return X.astype(self.dtype)
        X = x.cpu().double().numpy() * self.scale + self.shift
        if self.is_image:
            X = X.transpose(0, 2, 3, 1)  # channels last
        X = X.reshape(len(X), *self.row_shape)
        if self.limits is not None:
            X = self.limits.repair(X)
        if self.dtype == np.uint8:
            X = X.round().clip(0, 255)
        return X.astype(self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the name of the dtype, which any reader can be trusted with."""
        return {**vars(self), "dtype": self.dtype.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, dtype=np.dtype(state["dtype"]))


class NormalizedRows:
    """Rows of X that are normalised when they are indexed.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Flat rows, in the user's units.
    spec : RowSpec
        Shape and scaling of rows.
    like : Tensor
        A tensor with the device and the dtype of the result.
    rows : ndarray of int, optional
        Positions of the rows of X to use; all by default.
    """

    def __init__(self, X: NDArray[Any], spec: RowSpec, like: Tensor, rows: Positions | None = None):
        self.X = X
        self.spec = spec
        self.like = like
        self.rows = rows
        self.on_device: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X if self.rows is None else self.rows)

    def __getitem__(self, index: slice | NDArray[np.intp]) -> Tensor:
        if self.rows is not None:
            index = self.rows[index].astype(np.intp, copy=False)
        if self.on_device is not None:
            x = self.on_device[index if isinstance(index, slice) else torch.from_numpy(index)]
            return x if x.is_floating_point() else self.spec.normalize(x, self.like.dtype)
        # integer indices give a copy; a slice may be a view of a read-only array
        X = torch.from_numpy(np.array(self.X[index]) if isinstance(index, slice) else self.X[index])
        if X.is_floating_point():
            return to_device(self.spec.normalize(X, self.like.dtype), self.like)
        return self.spec.normalize(to_device(X, self.like), self.like.dtype)

    def keep_on_device(self) -> None:
        """Move all rows to the device, as bytes or as normalised floats, and keep them there."""
        X = torch.from_numpy(np.array(self.X))
        if X.is_floating_point():
            X = self.spec.normalize(X, self.like.dtype)
        self.on_device = X.to(self.like.device)


def to_device(values: Tensor, like: Tensor) -> Tensor:
    """Return values on the device of `like`; floats also in its dtype.

    Floats are converted first, since not every device supports float64. Copies to a CUDA
    device are asynchronous.
    """
    if values.is_floating_point():
        values = values.to(like.dtype)
    if like.device.type != "cuda" or values.device.type != "cpu":
        return values.to(like.device)
    return values.pin_memory().to(like.device, non_blocking=True)

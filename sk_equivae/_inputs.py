"""What X holds: rows of images or of features, their units and their likelihood."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_array, gen_batches

# Values looked at together when X is measured: X may be larger than memory.
CHUNK = 2**22
# Below this part of the variance of a coin, values count as zeros and ones.
NEARLY_BINARY = 0.25
DTYPES = (np.float64, np.float32, np.uint8)


@dataclass(frozen=True)
class InputSpec:
    """A row of X, as the user gives it and as the networks see it.

    Attributes
    ----------
    row_shape : tuple
        The shape of a row of the user's X.
    input_shape : tuple
        `(channels, height, width)` or `(n_features,)`.
    dtype : numpy dtype
        Of the user's X; what is generated comes back in it.
    likelihood : {"bernoulli", "gaussian"}
    whole : float
        What a Bernoulli takes for 1: 255 in uint8, unless there is nothing but 0 and 1.
    """

    row_shape: tuple[int, ...]
    input_shape: tuple[int, ...]
    dtype: np.dtype
    likelihood: str
    whole: float

    @property
    def is_image(self) -> bool:
        return len(self.input_shape) == 3

    def check_row_shape(self, shape: tuple[int, ...]) -> None:
        """Raise unless a row of this shape holds what the rows of `fit` held."""
        allowed = [self.row_shape]
        if self.is_image:
            channels, height, width = self.input_shape
            allowed += [(height, width, channels), (height, width)][: 1 + (channels == 1)]
        if shape not in allowed:
            raise ValueError(
                f"Expected rows of shape {self.row_shape}, as in fit; got {shape}. Bring X to "
                "the shape it had in fit."
            )

    def check_values(self, X: NDArray) -> None:
        """Raise if the likelihood settled in fit cannot take the values of X."""
        if self.likelihood == "bernoulli":
            check_bernoulli(X, self.whole)


def check_bernoulli(X: NDArray, whole: float) -> None:
    """Raise unless the values of X are parts of `whole`."""
    low, high = float(X.min()), float(X.max())
    if low < 0 or high > whole:
        raise ValueError(
            f"likelihood='bernoulli' expects values in [0, {whole:g}]; got values from {low:g} to "
            f"{high:g}. Scale X (for example with MinMaxScaler), or use likelihood='gaussian'."
        )


@contextlib.contextmanager
def no_strings() -> Iterator[None]:
    """Say what to do about strings in X."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"Expected numbers in X; got strings ({error}). Encode columns of categories, for "
            "example with OneHotEncoder."
        ) from error


def flatten(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """2-D X as it is, or images as rows, with the shape of an image.

    Raises
    ------
    ValueError
        If X has more than four dimensions, or holds no numbers.
    """
    ndim = getattr(X, "ndim", None)
    if ndim is None and isinstance(X, (list, tuple)):
        X = np.asarray(X)
        ndim = X.ndim
    if ndim is None or ndim <= 2:
        return X, None
    if ndim > 4:
        raise ValueError(
            f"Expected X of shape (n, n_features), (n, h, w) or (n, h, w, c); got {ndim} "
            f"dimensions: {tuple(X.shape)}."
        )
    X = check_array(X, dtype=DTYPES, allow_nd=True, input_name="X")
    return X.reshape(len(X), int(np.prod(X.shape[1:]))), X.shape[1:]


def image_input_shape(row_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(h, w) or (h, w, c) to (c, h, w)."""
    height, width, channels = (*row_shape, 1)[:3]
    if min(height, width) < 8:
        raise ValueError(
            f"Expected images of at least 8x8 pixels; got {height}x{width}. Treat them as "
            "tabular rows (2-D X, image_shape=None), or enlarge them."
        )
    if channels > min(height, width):
        raise ValueError(
            f"Expected images of shape (h, w) or (h, w, c), channels last; got {row_shape}, "
            f"which would have {channels} channels. Move the channels to the end with "
            "`X.transpose(0, 2, 3, 1)`."
        )
    return channels, height, width


def make_spec(
    X: NDArray, array_shape: tuple[int, ...] | None, image_shape: Any, likelihood: str
) -> InputSpec:
    """Look at X and settle what its rows are.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    array_shape : tuple or None
        The shape of a row if the user's X was of more than two dimensions.
    image_shape, likelihood : see `EquiVAEClassifier`
    """
    if image_shape is not None:
        if len(image_shape) not in (2, 3) or not all(
            isinstance(size, Integral) and int(size) > 0 for size in image_shape
        ):
            raise ValueError(
                f"image_shape should be (h, w) or (h, w, c), positive ints; got {image_shape!r}."
            )
        image_shape = tuple(int(size) for size in image_shape)
        if int(np.prod(image_shape)) != X.shape[1]:
            raise ValueError(
                f"image_shape={image_shape} has {int(np.prod(image_shape))} values, but rows of "
                f"X have {X.shape[1]} features. Expected (h, w) or (h, w, c) with "
                "h * w * c = n_features."
            )
        if array_shape is not None and (*image_shape, 1)[:3] != (*array_shape, 1)[:3]:
            raise ValueError(
                f"image_shape={image_shape} differs from the images of shape {array_shape} in X. "
                "Leave image_shape out: it is for flattened images only."
            )
    shape = image_shape or array_shape
    input_shape = (X.shape[1],) if shape is None else image_input_shape(shape)
    whole = 255.0 if X.dtype == np.uint8 and X.max() > 1 else 1.0
    return InputSpec(
        row_shape=array_shape or (X.shape[1],),
        input_shape=input_shape,
        dtype=X.dtype,
        likelihood=choose_likelihood(X, input_shape, likelihood, whole),
        whole=whole,
    )


def choose_likelihood(
    X: NDArray, input_shape: tuple[int, ...], likelihood: str, whole: float
) -> str:
    """Settle "auto", and refuse a Bernoulli of values that are no probabilities.

    "auto" is "bernoulli" where values in [0, 1] (or uint8 of grey images) are nearly
    binary, as in ink on paper: their mean of x (1 - x) is below a quarter of what it
    would be if all were the same grey. Else "gaussian".
    """
    if likelihood == "gaussian":
        return likelihood
    if likelihood == "auto":
        is_colour = len(input_shape) == 3 and input_shape[0] > 1
        is_count = len(input_shape) == 1 and whole > 1
        if is_colour or is_count or X.min() < 0 or X.max() > whole:
            return "gaussian"
        return "bernoulli" if _nearly_binary(X, whole) else "gaussian"
    check_bernoulli(X, whole)
    return likelihood


def _chunks(X: NDArray) -> Iterator[slice]:
    return gen_batches(len(X), max(1, CHUNK // X.shape[1]))


def _nearly_binary(X: NDArray, whole: float) -> bool:
    total = spread = 0.0
    for rows in _chunks(X):
        x = np.asarray(X[rows], dtype=np.float64) / whole
        total += x.sum()
        spread += (x * (1 - x)).sum()
    mean = total / X.size
    return bool(spread / X.size < NEARLY_BINARY * mean * (1 - mean))


def shift_and_scale(X: NDArray, spec: InputSpec) -> tuple[torch.Tensor, torch.Tensor]:
    """The shift and scale that bring X to the networks, in float64.

    A Bernoulli sees values in [0, 1]. A Gaussian sees zero mean and unit variance: of
    each feature of tabular rows, and of each channel of images, where a pixel that
    hardly ever changes must not be blown up.
    """
    if spec.likelihood == "bernoulli":
        return torch.zeros((), dtype=torch.float64), torch.tensor(spec.whole, dtype=torch.float64)
    n_groups = spec.input_shape[0]
    center = X[next(_chunks(X))].reshape(-1, n_groups).mean(axis=0, dtype=np.float64)
    count, total, squares = 0, np.zeros(n_groups), np.zeros(n_groups)
    for rows in _chunks(X):
        # (n * h * w, c) or (n, n_features); around a centre, so that squares keep their digits
        values = np.asarray(X[rows], dtype=np.float64).reshape(-1, n_groups) - center
        count += len(values)
        total += values.sum(axis=0)
        squares += np.square(values).sum(axis=0)
    mean = total / count
    scale = np.sqrt(np.maximum(squares / count - np.square(mean), 0))
    constant = scale <= 10 * np.finfo(np.float64).eps * np.maximum(1, np.abs(center + mean))
    scale[constant] = 1.0
    shape = (n_groups, 1, 1) if spec.is_image else (n_groups,)
    return (
        torch.from_numpy(center + mean).reshape(shape),
        torch.from_numpy(scale).reshape(shape),
    )


def to_user(X: NDArray, spec: InputSpec) -> NDArray:
    """Rows `(n, *input_shape)` in the user's units to the user's shape and dtype."""
    if spec.is_image:
        X = X.transpose(0, 2, 3, 1)  # channels last
    X = X.reshape(len(X), *spec.row_shape)
    if spec.dtype == np.uint8:
        X = X.round().clip(0, 255)
    return X.astype(spec.dtype)

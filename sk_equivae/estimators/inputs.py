"""Validation of X: images or tabular rows, their scaling and their likelihood."""

import contextlib
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import check_array, gen_batches

from ..fitted.columns import Columns
from ..fitted.limits import Limits
from ..fitted.rows import RowSpec
from .tables import make_mixed_spec

# Number of values of X that are processed at once, since X may be larger than memory.
CHUNK = 2**22
# Values are nearly binary if their mean of x (1 - x) is less than this fraction of that of a
# constant with the same mean.
NEARLY_BINARY = 0.25
# A feature has two values only if its variance is this part of the largest possible one.
TWO_VALUES = 1 - 1e-9
DTYPES = (np.float64, np.float32, np.uint8)


def check_bernoulli(X: NDArray[Any], max_value: float) -> None:
    """Raise if values of X are outside of [0, max_value]."""
    low, high = float(X.min()), float(X.max())
    if low < 0 or high > max_value:
        raise ValueError(
            f"likelihood='bernoulli' expects values in [0, {max_value:g}]; got values from {low:g} "
            f"to {high:g}. Scale X (for example with MinMaxScaler), or use likelihood='gaussian'."
        )


@contextlib.contextmanager
def no_strings() -> Iterator[None]:
    """Explain the error that strings in X lead to."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"Expected numbers in X; got strings ({error}). Pass categories as columns of a pandas "
            "or polars DataFrame, with categorical_features='from_dtype'."
        ) from error


def flatten(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return X as a 2-D array, and the shape of an image if it had more dimensions.

    Parameters
    ----------
    X : array-like
        Tabular rows or images.

    Returns
    -------
    X : array-like of shape (n, n_features)
        The flattened rows; X itself if it is 2-D.
    shape : tuple or None
        Shape of an image, or None if X is 2-D.

    Raises
    ------
    ValueError
        If X has more than four dimensions, or contains values that are not numbers.
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
    """Return (c, h, w) for an image of shape (h, w) or (h, w, c)."""
    height, width, channels = (*row_shape, 1)[:3]
    if len(row_shape) == 3 and height <= 4 < min(width, channels):
        raise ValueError(
            f"Expected images of shape (h, w) or (h, w, c), channels last; got {row_shape}, which "
            "looks like channels first. Move them to the end with `X.transpose(0, 2, 3, 1)`."
        )
    if min(height, width) < 8:
        raise ValueError(
            f"Expected images of at least 8x8 pixels; got {height}x{width}. Treat them as "
            "tabular rows (2-D X, image_shape=None), or enlarge them."
        )
    return channels, height, width


def make_spec(
    X: NDArray[Any],
    array_shape: tuple[int, ...] | None,
    image_shape: Any,
    likelihood: str,
    columns: Columns | None = None,
) -> RowSpec:
    """Determine shape, likelihood and scaling of rows from X.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        The flattened rows.
    array_shape : tuple or None
        Shape of a row if the user's X has more than two dimensions.
    image_shape, likelihood : tuple or None, and str
        The parameters of the estimator.
    columns : Columns or None
        The columns of a table that is a frame, or has categories or missing values, with the
        ranges of X.

    Returns
    -------
    spec : RowSpec
        Shape and scaling of rows.
    """
    if columns is not None and columns.layout is not None:
        return make_mixed_spec(X, columns, likelihood)
    if image_shape is not None:
        image_shape = _check_image_shape(image_shape, X.shape[1], array_shape)
    shape = image_shape or array_shape
    input_shape = (X.shape[1],) if shape is None else image_input_shape(shape)
    max_value = 255.0 if X.dtype == np.uint8 and X.max() > 1 else 1.0
    likelihood = choose_likelihood(X, input_shape, likelihood, max_value)
    if likelihood == "bernoulli":
        shift, scale = np.zeros(()), np.array(max_value)
    else:
        shift, scale = shift_and_scale(X, input_shape)
    limits = None
    if shape is None and columns is None:
        limits = Limits.learn(X[rows] for rows in _chunks(X))
    return RowSpec(
        row_shape=array_shape or (X.shape[1],),
        input_shape=input_shape,
        dtype=X.dtype,
        likelihood=likelihood,
        max_value=max_value,
        shift=shift,
        scale=scale,
        value_range=(float(X.min()), float(X.max())),
        columns=columns,
        limits=limits,
    )


def _check_image_shape(
    image_shape: Any, n_features: int, array_shape: tuple[int, ...] | None
) -> tuple[int, ...]:
    if len(image_shape) not in (2, 3) or not all(
        isinstance(size, Integral) and int(size) > 0 for size in image_shape
    ):
        raise ValueError(
            f"image_shape should be (h, w) or (h, w, c), positive ints; got {image_shape!r}."
        )
    image_shape = tuple(int(size) for size in image_shape)
    n_values = int(np.prod(image_shape))
    if n_values != n_features:
        raise ValueError(
            f"image_shape={image_shape} has {n_values} values, but rows of X have {n_features} "
            "features. Expected (h, w) or (h, w, c) with h * w * c = n_features."
        )
    if array_shape is not None and (*image_shape, 1)[:3] != (*array_shape, 1)[:3]:
        raise ValueError(
            f"image_shape={image_shape} differs from the images of shape {array_shape} in X. "
            "Leave image_shape out: it is for flattened images only."
        )
    return image_shape


def choose_likelihood(
    X: NDArray[Any], input_shape: tuple[int, ...], likelihood: str, max_value: float
) -> str:
    """Return the likelihood with "auto" resolved; raise if a Bernoulli is impossible.

    "auto" is "bernoulli" if values in [0, 1], or uint8 values of grey images, are nearly binary,
    as in images of handwriting: the mean of x (1 - x) is less than a quarter of what it would be
    for a constant image with the same mean. Otherwise it is "gaussian".
    """
    if likelihood == "gaussian":
        return likelihood
    if likelihood == "auto":
        is_colour = len(input_shape) == 3 and input_shape[0] > 1
        is_count = len(input_shape) == 1 and max_value > 1
        if is_colour or is_count or X.min() < 0 or X.max() > max_value:
            return "gaussian"
        return "bernoulli" if _nearly_binary(X, max_value) else "gaussian"
    check_bernoulli(X, max_value)
    return likelihood


def _chunks(X: NDArray[Any]) -> Iterator[slice]:
    return gen_batches(len(X), max(1, CHUNK // X.shape[1]))


def _nearly_binary(X: NDArray[Any], max_value: float) -> bool:
    total = spread = 0.0
    for rows in _chunks(X):
        x = np.asarray(X[rows], dtype=np.float64) / max_value
        total += x.sum()
        spread += (x * (1 - x)).sum()
    mean = total / X.size
    return bool(spread / X.size < NEARLY_BINARY * mean * (1 - mean))


def shift_and_scale(
    X: NDArray[Any], input_shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shift and scale that give X zero mean and unit variance.

    Tabular rows are scaled per feature. A feature with two values only, such as a one-hot
    column, keeps them at a distance of 1: divided by its standard deviation, a rare category
    would dominate all other features. Images are scaled per channel, since single pixels may be
    nearly constant.
    """
    n_groups = input_shape[0]
    scaler, ranges = StandardScaler(), MinMaxScaler()
    for rows in _chunks(X):
        # (n * h * w, c) or (n, n_features)
        some = np.asarray(X[rows], dtype=np.float64).reshape(-1, n_groups)
        scaler.partial_fit(some)
        ranges.partial_fit(some)
    if len(input_shape) == 3:
        return scaler.mean_.reshape(-1, 1, 1), scaler.scale_.reshape(-1, 1, 1)
    # the variance is as large as it can be only if all values are at the two ends
    largest = (ranges.data_max_ - scaler.mean_) * (scaler.mean_ - ranges.data_min_)
    two_values = (scaler.var_ > TWO_VALUES * largest) & (ranges.data_range_ > 0)
    return scaler.mean_, np.where(two_values, ranges.data_range_, scaler.scale_)

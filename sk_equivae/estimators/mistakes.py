"""Input that is probably not what was meant: messages that name the remedy."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._warnings import InputWarning, warn_user
from ..fitted.rows import RowSpec

# X is on another scale than in fit if features are this many standard deviations away from the
# mean, or if pixels have this many times the range.
FAR = 20.0
CHECKED_ROWS = 1024
# Pixels are on another scale if this part of them is half a range or more away from the range, ...
OUTSIDE = 0.01
# ... or if all are within this part of the range. A few images may be dark; that many are not.
DARK, VERY_DARK, MANY_IMAGES = 0.1, 0.01, 10
# Flat rows look like images of width w if features at a distance of 1 and of w have at least this
# correlation, and those at a distance of w a larger one than those at w / 2.
LEAST_CORRELATION, LEAST_PEAK = 0.25, 0.04
SMALLEST_SIDE, LEAST_ROWS = 8, 20


# -------------------------------------------------------------------- scale


def check_units(X: Any, spec: RowSpec) -> None:
    """Raise or warn if the values of X are on another scale than in `fit`.

    Values that are impossible for a Bernoulli likelihood raise. Otherwise there is a warning if
    pixels have a very different range, or if more than half of the values of tabular rows are
    far from those in `fit`.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        The rows.
    spec : RowSpec
        Scaling of rows in `fit`.
    """
    if len(X) == 0 or (X.dtype == np.uint8 and spec.dtype == np.uint8 and spec.max_value > 1):
        return
    some = np.asarray(X[:CHECKED_ROWS], dtype=np.float64)
    if not (spec.is_image or spec.likelihood == "bernoulli"):
        far = np.abs(some - spec.shift) > FAR * spec.scale  # categories never are
        if far.mean() > 0.5:
            _warn_units(np.nanmin(some), np.nanmax(some), spec)
        return
    low, high = float(X.min()), float(X.max())
    if spec.likelihood == "bernoulli":
        slack = 0.01 * spec.max_value
        if low < -slack or high > spec.max_value + slack:
            raise ValueError(
                f"Expected values in [0, {spec.max_value:g}], as in fit; got values from {low:g} "
                f"to {high:g}. Scale X as it was for fit (divide bytes by 255 if they were divided "
                "there)."
            )
    if _on_another_scale(some, low, high, len(X), spec):
        _warn_units(low, high, spec)


def _on_another_scale(
    some: NDArray[np.float64], low: float, high: float, n_rows: int, spec: RowSpec
) -> bool:
    """Return whether pixels from `low` to `high` are on another scale than in `fit`."""
    fit_low, fit_high = spec.value_range
    span = max(fit_high - fit_low, np.finfo(float).tiny)
    ratio = (high - low) / span
    outside = (some < fit_low - span / 2) | (some > fit_high + span / 2)
    if ratio > FAR or outside.mean() > OUTSIDE or 0 < ratio < VERY_DARK:
        return True
    if not spec.is_image or n_rows < MANY_IMAGES:
        return False
    # in fit one value in six or so was below 0, and now none is: [-1, 1] then, [0, 1] now
    lost_sign = low >= 0 > fit_low and bool(np.all(spec.shift - spec.scale < 0))
    return 0 < ratio < DARK or lost_sign


def _warn_units(low: float, high: float, spec: RowSpec) -> None:
    fit_low, fit_high = spec.value_range
    warn_user(
        f"X has values from {low:g} to {high:g}; in fit they went from {fit_low:g} to "
        f"{fit_high:g}. Predictions on another scale are of no use: bring X to the scale that it "
        "had in fit (divide bytes by 255 only if they were divided there).",
        InputWarning,
    )


# -------------------------------------------------------------------- shape


def check_row_shape(spec: RowSpec, shape: tuple[int, ...]) -> None:
    """Raise if the shape of a row differs from that in `fit`."""
    allowed = [spec.row_shape]
    if spec.is_image:
        channels, height, width = spec.input_shape
        allowed += [(height, width, channels), (height, width)][: 1 + (channels == 1)]
    if shape in allowed:
        return
    remedy = "Bring X to the shape it had in fit."
    if spec.is_image and shape == spec.input_shape:
        remedy = "The channels come last: move them by `X.transpose(0, 2, 3, 1)`."
    elif spec.is_image and len(shape) > 1:
        several = "channel" if channels == 1 else "channels"
        remedy = f"Resize the images to {height}x{width} pixels, with {channels} {several}."
        if shape[:2] == (height, width):
            remedy = f"Convert the images to {channels} {several}."
    raise ValueError(f"Expected rows of shape {spec.row_shape}, as in fit; got {shape}. {remedy}")


def check_not_single(spec: RowSpec, X: Any) -> None:
    """Raise if X is a single image instead of an array of images."""
    shape = tuple(getattr(X, "shape", ()))
    channels, *size = spec.input_shape if spec.is_image else (0,)
    if spec.is_image and shape in ((*size, channels), (*size,)[: 2 if channels == 1 else 0]):
        raise ValueError(
            f"Expected images of shape (n, {', '.join(map(str, shape))}); got a single image of "
            f"shape {shape}. Pass it as `X[np.newaxis]`."
        )


def check_rows_given(X: Any) -> None:
    """Raise if X holds names of files, or images of different sizes.

    Parameters
    ----------
    X : object
        What the user passed.
    """
    if isinstance(X, (str, bytes, os.PathLike)):
        raise ValueError(
            f"Expected rows in X; got a path, {os.fspath(X)!r}. Read images by "
            "`sk_equivae.datasets.load_image_folder`, and a table by `pandas.read_csv`."
        )
    is_sequence = isinstance(X, (list, tuple))
    if not is_sequence and not (isinstance(X, np.ndarray) and X.ndim == 1 and len(X)):
        return
    first = X[0] if len(X) else None
    if isinstance(first, (str, bytes, os.PathLike)):
        raise ValueError(
            "Expected images or rows of numbers in X; got names such as "
            f"{str(os.fsdecode(first))!r}. Read the images first, for example by "
            "`sk_equivae.datasets.load_image_folder`; a column of categories is passed as a "
            "DataFrame."
        )
    shapes = sorted({_shape(row) for row in X})
    if len(shapes) > 1:
        kind = "images" if max(map(len, shapes)) > 1 else "rows"
        raise ValueError(
            f"Expected {kind} of one shape in X; got {len(shapes)} shapes, such as {shapes[0]} and "
            f"{shapes[-1]}. Bring them to one size; `image_size` of "
            "`sk_equivae.datasets.load_image_folder` does so."
        )


def _shape(row: Any) -> tuple[int, ...]:
    """Return the shape of an array, or the length of a list."""
    if isinstance(row, (list, tuple)):
        return (len(row),)
    return tuple(getattr(row, "shape", ()))


# -------------------------------------------------------------------- flat images


def warn_of_flat_images(X: Any) -> None:
    """Warn if rows of numbers look like flattened images.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Tabular rows.
    """
    if len(X) < LEAST_ROWS or X.shape[1] < SMALLEST_SIDE**2:
        return
    for channels in (1, 3):
        side = round((X.shape[1] / channels) ** 0.5)
        if channels * side**2 != X.shape[1] or side < SMALLEST_SIDE:
            continue
        if not _looks_like_images(np.asarray(X[:CHECKED_ROWS], np.float64), side, channels):
            continue
        shape = (side, side) if channels == 1 else (side, side, channels)
        warn_user(
            f"The {X.shape[1]} features of X look like the pixels of {side}x{side} images, but "
            f"they are learnt as the columns of a table, which is less accurate. Set "
            f"image_shape={shape}, or pass X.reshape(-1, {', '.join(map(str, shape))}).",
            InputWarning,
        )
        return


def _looks_like_images(X: NDArray[np.float64], side: int, channels: int) -> bool:
    if not np.isfinite(X).all():
        return False
    X = X - X.mean(axis=0)
    scale = X.std(axis=0)
    X = np.divide(X, scale, where=scale > 0, out=X)

    def correlation(lag: int) -> float:
        both = (scale[:-lag] > 0) & (scale[lag:] > 0)
        return float((X[:, :-lag] * X[:, lag:]).mean(axis=0)[both].mean()) if both.any() else 0.0

    beside, below = correlation(channels), correlation(channels * side)
    between = correlation(channels * (side // 2))
    return min(beside, below) > LEAST_CORRELATION and below > between + LEAST_PEAK

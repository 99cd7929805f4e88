"""Rows that need no files: time series from a generator."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

N_SERIES, N_TEMPLATES, LENGTH, TEMPLATE_LENGTH = 4_000, 10, 40, 12
TEMPLATE_SEED = 7  # the classes are the same for all seeds
STRETCH, SHIFT, TILT, TREND, NOISE = (2.0, 2.6), 3, 0.5, 0.75, 0.02


def make_series(rng: np.random.RandomState, n: int = N_SERIES) -> tuple[NDArray, NDArray]:
    """Time series in the manner of MNIST-1D: ten shapes, each row a changed one of them.

    A shape is stretched, tilted, scaled and shifted within a series of 40 steps, over a smooth
    random trend and a little noise. The ten shapes are smooth random curves of our own.
    """
    shapes = np.random.RandomState(TEMPLATE_SEED).standard_normal((N_TEMPLATES, TEMPLATE_LENGTH))
    shapes = gaussian_filter1d(shapes, 1.0, axis=1)
    shapes = (shapes - shapes.mean(axis=1, keepdims=True)) / shapes.std(axis=1, keepdims=True)
    y = rng.permutation(np.arange(n) % N_TEMPLATES)
    X = gaussian_filter1d(TREND * rng.standard_normal((n, LENGTH)), 3.0, axis=1)
    X += NOISE * rng.standard_normal(X.shape)
    for row, code in zip(X, y, strict=True):
        length = round(TEMPLATE_LENGTH * rng.uniform(*STRETCH))
        steps = np.linspace(0, TEMPLATE_LENGTH - 1, length)
        curve = np.interp(steps, np.arange(TEMPLATE_LENGTH), shapes[code])
        tilt = TILT * rng.uniform(-1, 1) * np.linspace(-1, 1, length)
        curve = curve * rng.uniform(0.6, 1.4) + tilt
        start = (LENGTH - length) // 2 + rng.randint(-SHIFT, SHIFT + 1)
        row[start : start + length] += curve
    return X, y.astype(np.int64)

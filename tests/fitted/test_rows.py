"""Rows to what the networks see, and back."""

import numpy as np
import pytest
import torch

from sk_equivae.estimators.inputs import make_spec
from sk_equivae.fitted.rows import LARGEST, NormalizedRows, to_device
from tests._models import row_spec, tiny_module

FLOAT64, FLOAT32 = torch.zeros((), dtype=torch.float64), torch.zeros(())


def rng():
    return np.random.RandomState(0)


def tabular(shift, scale, dtype=np.float64):
    return row_spec((len(scale),), dtype=dtype, shift=shift, scale=scale)


def images(dtype, channels=2, row_shape=None):
    """A spec of 8x9 images with a shift and a scale per channel, and flat rows."""
    spec = row_spec(
        (channels, 8, 9),
        row_shape or (8, 9, channels),
        dtype,
        shift=np.arange(1, channels + 1)[:, None, None],
        scale=np.linspace(40, 90, channels)[:, None, None],
    )
    return spec, rng().randint(256, size=(6, 8 * 9 * channels)).astype(dtype)


# -------------------------------------------------------------------- there and back


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("channels, row_shape", [(2, None), (3, None), (1, (8, 9)), (1, (72,))])
def test_bytes_come_back_to_the_bit(dtype, channels, row_shape):
    spec, X = images(np.uint8, channels, row_shape)
    x = spec.normalize(torch.from_numpy(X), dtype)
    assert x.dtype == dtype
    assert x.shape == (6, channels, 8, 9)
    back = spec.denormalize(x)
    assert back.dtype == np.uint8
    np.testing.assert_array_equal(back, X.reshape(6, *spec.row_shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_images_come_back(dtype):
    spec, X = images(dtype)
    back = spec.denormalize(spec.normalize(torch.from_numpy(X), torch.float64))
    assert back.dtype == dtype
    np.testing.assert_allclose(back, X.reshape(6, 8, 9, 2), rtol=1e-6)


def test_rows_with_a_large_offset_keep_their_digits():
    """Of a time in seconds and a small spread, float32 would lose everything."""
    X = 1.7e9 + rng().normal(size=(200, 3)) * [1.0, 1e-3, 100.0]
    assert (X.astype(np.float32)[:, 1] == X.astype(np.float32)[0, 1]).all()
    spec = make_spec(X, None, None, "gaussian")
    x = spec.normalize(torch.from_numpy(X), torch.float32)
    assert x.dtype == torch.float32
    np.testing.assert_allclose(x, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-3)
    back = spec.denormalize(x)
    assert back.dtype == np.float64
    np.testing.assert_allclose((back - X) / X.std(axis=0), 0, atol=1e-3)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3), (12,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_what_a_fit_makes_of_rows_comes_back(likelihood, shape, dtype):
    X = rng().uniform(size=(5, *shape))
    X = (255 * X).astype(dtype) if dtype == np.uint8 else X
    flat = X.reshape(5, -1)
    spec = make_spec(flat, shape if len(shape) > 1 else None, None, likelihood)
    back = spec.denormalize(spec.normalize(torch.from_numpy(flat), torch.float64))
    assert back.dtype == dtype
    np.testing.assert_allclose(back, X, atol=1e-12)


# -------------------------------------------------------------------- units


def test_networks_see_shifted_and_scaled_features():
    shift, scale = [1.0, -2.0, 0.0, 100.0], [1.0, 10.0, 0.1, 7.0]
    X = rng().normal(size=(6, 4))
    x = tabular(shift, scale).normalize(torch.from_numpy(X), torch.float64)
    np.testing.assert_allclose(x, (X - shift) / scale)


def test_bytes_and_channels():
    """Pixels are seen channels first, and lie in memory channels last."""
    spec, X = images(np.uint8)
    x = spec.normalize(torch.from_numpy(X), torch.float64)
    expected = X.reshape(6, 8, 9, 2).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(x, (expected - spec.shift) / spec.scale)
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert spec.is_image


def test_bytes_are_rounded_and_clipped():
    spec = tabular([0.0], [255.0], np.uint8)
    x = torch.tensor([[-0.1], [0.4], [1.3], [254.6 / 255]])
    assert spec.denormalize(x).ravel().tolist() == [0, 102, 255, 255]


def test_the_end_of_the_world_is_finite():
    X = torch.tensor([[1e300, -1e300, 1e38, 0.0]], dtype=torch.float64)
    x = tabular(np.zeros(4), np.full(4, 1e-9)).normalize(X, torch.float32)
    assert x.tolist() == [[LARGEST, -LARGEST, LARGEST, 0.0]]
    module = tiny_module().float()
    assert module.f_inv(x).isfinite().all()
    assert module.classify(x).isfinite().all()


def test_normalising_leaves_rows_alone():
    X = torch.from_numpy(rng().normal(size=(5, 2)))
    before = X.clone()
    tabular([1.0, 2.0], [3.0, 4.0]).normalize(X, torch.float64)
    assert torch.equal(X, before)


# -------------------------------------------------------------------- rows when asked for


@pytest.fixture
def X():
    X = rng().normal(size=(7, 2))
    X.setflags(write=False)
    return X


SPEC = tabular([1.0, 2.0], [3.0, 4.0])


@pytest.mark.parametrize("index", [slice(1, 4), np.array([5, 0, 5])])
@pytest.mark.parametrize("kept", [False, True])
def test_rows_are_normalised_when_they_are_asked_for(X, index, kept):
    rows = NormalizedRows(X, SPEC, FLOAT64)
    if kept:
        rows.keep_on_device()
    assert len(rows) == 7
    np.testing.assert_allclose(rows[index], (X[index] - [1, 2]) / [3, 4])
    rows[index].add_(1)  # of its own: X is read-only


@pytest.mark.parametrize("index", [slice(1, 4), np.array([2, 0])])
@pytest.mark.parametrize("kept", [False, True])
def test_some_rows_of_all(X, index, kept):
    some = np.array([6, 2, 4, 0])
    rows = NormalizedRows(X, SPEC, FLOAT32, some)
    if kept:
        rows.keep_on_device()
    assert len(rows) == 4
    x = rows[index]
    assert x.dtype == torch.float32
    np.testing.assert_allclose(x, (X[some[index]] - [1, 2]) / [3, 4], rtol=1e-5)


@pytest.mark.parametrize("index", [np.array([2, 0]), slice(1, 3)])
def test_images_hold_their_channels_last(index):
    spec, X = images(np.float64)
    x = NormalizedRows(X, spec, FLOAT64)[index]
    assert x.shape == (2, 2, 8, 9)
    assert x.is_contiguous(memory_format=torch.channels_last)
    expected = X.reshape(6, 8, 9, 2)[index].transpose(0, 3, 1, 2)
    np.testing.assert_allclose(x, (expected - spec.shift) / spec.scale)


def test_bytes_stay_bytes_on_the_device():
    spec, X = images(np.uint8)
    rows = NormalizedRows(X, spec, FLOAT32)
    before = rows[slice(0, 3)]
    rows.keep_on_device()
    assert rows.on_device.dtype == torch.uint8
    assert torch.equal(rows[slice(0, 3)], before)
    floats = NormalizedRows(X.astype(np.float64), spec, FLOAT32)
    floats.keep_on_device()
    assert floats.on_device.dtype == torch.float32  # as the networks see them
    torch.testing.assert_close(floats[slice(0, 3)], before)


def test_floats_get_the_dtype_and_integers_stay():
    assert to_device(torch.zeros(2, dtype=torch.float64), FLOAT32).dtype == torch.float32
    assert to_device(torch.zeros(2, dtype=torch.int64), FLOAT32).dtype == torch.int64
    assert to_device(torch.zeros(2, dtype=torch.uint8), FLOAT32).dtype == torch.uint8

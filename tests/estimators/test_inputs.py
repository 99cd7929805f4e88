"""X in any form: what it is taken for, and that the form does not matter."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from sk_equivae import InputWarning
from sk_equivae.estimators import inputs
from sk_equivae.estimators.inputs import check_bernoulli, make_spec, shift_and_scale


def strided(X):
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    return wide[::2, ::3]


def backwards(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


FORMS = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "negative strides": backwards,
    "list": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_form_of_tabular_rows_does_not_matter(make, blobs, few, assert_same, form):
    X, _ = blobs
    plain, model = make().fit(X, few), make().fit(form(X), few)
    assert_same(plain, model)
    np.testing.assert_array_equal(model.predict_proba(form(X)), plain.predict_proba(X))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "bool"])
def test_dtypes(make, blobs, dtype, assert_same):
    X, y = blobs
    X = X.mean(axis=0) < X if dtype == "bool" else (X - X.min()) * 10
    X = X.astype(dtype)
    model = make(likelihood="gaussian").fit(X, y)
    assert_same(model, make(likelihood="gaussian").fit(X.astype(np.float64), y))
    assert model.transform(X).dtype == np.float32
    assert make(dtype="float64").fit(X, y).transform(X).dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_read_only_memory_map(make, images, tmp_path, assert_same, order, dtype):
    X, y = images
    X = np.asarray((X * 255).astype(dtype) if dtype == "uint8" else X.astype(dtype), order=order)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model, plain = make().fit(mapped, y), make().fit(X, y)
    assert_same(model, plain)
    np.testing.assert_array_equal(model.predict_proba(mapped), plain.predict_proba(X))
    np.testing.assert_array_equal(mapped, X)


def test_shapes_of_images_do_not_matter(make, images, assert_same):
    X, y = images
    plain = make().fit(X, y)
    flat = make(image_shape=(8, 8)).fit(X.reshape(24, 64), y)
    assert_same(plain, flat)
    assert_same(plain, make().fit(X[..., None], y))
    assert_same(plain, make(image_shape=[8, 8, 1]).fit(X.reshape(24, 64), y))
    expected = plain.transform(X)
    for model in (plain, flat):
        for same in (X, X[..., None], X.reshape(24, 64)):
            np.testing.assert_array_equal(model.transform(same), expected)
    with pytest.warns(InputWarning, match="look like the pixels of 8x8 images"):
        tabular = make().fit(X.reshape(24, 64), y)
    sizes = [len(model.model_.module.state_dict()) for model in (tabular, plain)]
    assert sizes[0] != sizes[1]


@pytest.mark.parametrize("shape", [(8, 8), (9, 13), (16, 8, 3), (40, 33, 2)])
def test_image_sizes_and_channels(make, shape):
    X = np.random.RandomState(0).uniform(size=(8, *shape))
    model = make(max_epochs=1, representation="both").fit(X, [0, 0, 0, 0, 1, 1, 1, -1])
    assert model.n_features_in_ == np.prod(shape)
    assert model.transform(X).shape == (8, 4)


def test_input_is_not_changed(make, images, few, blobs):
    X, _ = blobs
    X, y = X.copy(), few.copy()
    before = X.copy(), y.copy()
    make(max_epochs=1).fit(X, y).transform(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_feature_names_are_kept(make, blobs):
    X, y = blobs
    names = ["width", "height", "depth", "mass"]
    model = make().fit(pl.DataFrame(X, schema=names), y)
    assert model.feature_names_in_.tolist() == names
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


# ---------------------------------------------------------------- what rows are taken for


@pytest.mark.parametrize(
    "X, expected",
    [
        (np.eye(4), "bernoulli"),
        (np.eye(4) * 0.9, "bernoulli"),
        (np.eye(4) * 2, "gaussian"),
        (np.eye(4) - 0.1, "gaussian"),
        (np.linspace(0, 1, 16).reshape(4, 4), "gaussian"),
        (np.eye(4, dtype=np.uint8), "bernoulli"),
        (np.eye(4, dtype=np.uint8) * 255, "gaussian"),  # counts, as far as can be told
    ],
)
def test_likelihood_that_auto_chooses(X, expected):
    assert make_spec(X, None, None, "auto").likelihood == expected
    assert make_spec(X, None, None, "gaussian").likelihood == "gaussian"


@pytest.mark.parametrize("largest, whole", [(1, 1), (2, 255), (255, 255)])
@pytest.mark.parametrize("image_shape", [None, (8, 8)])
def test_what_a_bernoulli_of_bytes_takes_for_1(largest, whole, image_shape):
    X = np.random.RandomState(0).randint(2, size=(30, 64)).astype(np.uint8) * largest
    spec = make_spec(X, None, image_shape, "bernoulli")
    assert (spec.shift, spec.scale, spec.max_value) == (0, whole, whole)
    check_bernoulli(X, spec.max_value)
    if largest == 1:
        with pytest.raises(ValueError, match=r"values in \[0, 1\]"):
            check_bernoulli(2 * X, spec.max_value)


def test_wide_rows_are_measured_few_at_a_time(monkeypatch):
    X = np.random.RandomState(0).normal(5, 3, size=(50, 128))
    expected = shift_and_scale(X, (128,))
    monkeypatch.setattr(inputs, "CHUNK", 7 * 128)
    measured = shift_and_scale(X, (128,))
    for whole, parts in zip(expected, measured, strict=True):
        np.testing.assert_allclose(parts, whole)
    assert [rows.stop - rows.start for rows in inputs._chunks(X)] == [7] * 7 + [1]


def test_two_values_stay_at_a_distance_of_1():
    """A rare category is not blown up; a third value makes a feature an ordinary one."""
    rare = (np.arange(200) < 3) * 5.0
    three = np.where(np.arange(200) == 7, 1.0, rare)
    X = np.stack([rare, three, np.full(200, 4.0)], axis=1)
    shift, scale = shift_and_scale(X, (3,))
    np.testing.assert_allclose(shift, X.mean(axis=0))
    np.testing.assert_allclose(scale, [5.0, three.std(), 1.0])
    _, of_pixels = shift_and_scale(np.repeat(rare[:, None], 4, axis=1), (1, 2, 2))
    np.testing.assert_allclose(of_pixels, rare.std())


def test_units():
    """Features are standardised one by one, pixels by channel."""
    X = np.random.RandomState(0).normal(5, 3, size=(100, 128))
    for shape, axes in [(None, 0), ((8, 8, 2), (0, 2, 3))]:
        spec = make_spec(X, None, shape, "gaussian")
        rows = X if shape is None else X.reshape(100, 8, 8, 2).transpose(0, 3, 1, 2)
        seen = spec.normalize(torch.from_numpy(X), torch.float64)
        np.testing.assert_allclose(seen, (rows - spec.shift) / spec.scale)
        np.testing.assert_allclose(seen.numpy().mean(axis=axes), 0, atol=1e-12)
        np.testing.assert_allclose(seen.numpy().std(axis=axes), 1)
        np.testing.assert_allclose(spec.denormalize(seen), X, rtol=1e-12)


def test_constant_features_do_not_divide_by_zero(make, blobs):
    X, y = blobs
    X = np.column_stack([X, np.full(60, 1e9)])
    model = make().fit(X, y)
    assert np.isfinite(model.transform(X)).all()

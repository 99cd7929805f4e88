"""Input that is not what was meant: other scales, paths, odd sizes, flat images."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sk_equivae import InputWarning
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.estimators.mistakes import check_row_shape, check_units, warn_of_flat_images

DIGITS = load_digits().images / 16  # (1797, 8, 8)
PHOTOS = np.random.RandomState(0).uniform(0.1, 0.9, size=(60, 8, 8, 3))


def spec_of(X, likelihood="auto"):
    return make_spec(X.reshape(len(X), -1), X.shape[1:], None, likelihood)


def flat(X):
    return X.reshape(len(X), -1)


# ---------------------------------------------------------------- scale

OTHER_SCALES = {
    "bytes after fractions": (PHOTOS, 255 * PHOTOS),
    "fractions after bytes": (255 * PHOTOS, PHOTOS),
    "fractions after 0 to 16": (16 * DIGITS, DIGITS),
    "divided twice": (DIGITS, DIGITS / 255),
    "standardised": (PHOTOS, (PHOTOS - PHOTOS.mean()) / PHOTOS.std()),
    "from -1 on": (PHOTOS, 2 * PHOTOS - 1.2),
    "from 0 on, after -1": (2 * DIGITS - 1, DIGITS),
    "raw, after standardised": ((PHOTOS - PHOTOS.mean()) / PHOTOS.std(), PHOTOS),
}


@pytest.mark.parametrize("fitted, given", OTHER_SCALES.values(), ids=OTHER_SCALES)
def test_another_scale_warns(fitted, given):
    with pytest.warns(InputWarning, match="bring X to the scale that it had in fit"):
        check_units(flat(given), spec_of(fitted, "gaussian"))


def test_fractions_after_bytes_warn_for_a_single_image():
    X = (255 * DIGITS).astype(np.uint8)
    with pytest.warns(InputWarning, match="from 0 to 0.9375; in fit they went from 0 to 255"):
        check_units(flat(DIGITS[:1]), spec_of(X))


SAME_SCALE = {
    "a dark image": (PHOTOS, PHOTOS[:1] / 20),
    "a black image": (DIGITS, 0 * DIGITS[:1]),
    "half as bright": (PHOTOS, PHOTOS / 2),
    "other contrast": (PHOTOS, 1.2 * PHOTOS - 0.1),
    "a few hot pixels": (PHOTOS, np.where(np.arange(3) + PHOTOS > 2.8997, 3.0, PHOTOS)),
    "bright, around 0": ((PHOTOS - 0.5) * 4, np.abs(PHOTOS[:3] - 0.5) * 4),
    "bytes": ((255 * DIGITS).astype(np.uint8), (DIGITS[:20] > 0.9).astype(np.uint8)),
}


@pytest.mark.parametrize("fitted, given", SAME_SCALE.values(), ids=SAME_SCALE)
def test_no_false_alarm(fitted, given):
    check_units(flat(given), spec_of(fitted))


def test_partial_fit_on_another_scale(make):
    y = np.arange(60) % 2
    model = make(max_epochs=1).partial_fit(PHOTOS, y, classes=[0, 1])
    with pytest.warns(InputWarning, match="from 25.* to 229"):
        model.partial_fit(255 * PHOTOS, y)


# ---------------------------------------------------------------- what is not rows

NO_ROWS = {
    "a folder": ("images/", "got a path, 'images/'.*load_image_folder"),
    "a path": (Path("rows.csv"), "got a path, 'rows.csv'.*pandas.read_csv"),
    "names": (["a.png", "b.png"], "names such as 'a.png'.*load_image_folder"),
    "array of names": (np.array(["a.png", "b.png"]), "names such as 'a.png'"),
    "paths": ([Path("a.png"), Path("b.png")], "names such as 'a.png'"),
    "sizes": ([np.zeros((8, 8)), np.zeros((9, 8))], r"\(8, 8\) and \(9, 8\).*`image_size`"),
    "array of arrays": (
        np.fromiter([np.zeros((8, 8)), np.zeros((9, 9, 3))], dtype=object, count=2),
        "Expected images of one shape in X; got 2 shapes",
    ),
    "lists": ([[1, 2], [3]], r"Expected rows of one shape in X; .*\(1,\) and \(2,\)"),
}


@pytest.mark.parametrize("given, message", NO_ROWS.values(), ids=NO_ROWS)
def test_what_is_not_rows(make, given, message):
    with pytest.raises(ValueError, match=message):
        make().fit(given, [0, 1])


def test_a_list_of_images_is_taken(make, images):
    X, y = images
    assert make(max_epochs=1).fit(list(X), y).predict(list(X[:2])).shape == (2,)


@pytest.mark.parametrize(
    "shape, remedy",
    [
        ((3, 8, 8), r"X.transpose\(0, 2, 3, 1\)"),
        ((9, 8, 3), "Resize the images to 8x8 pixels, with 3 channels"),
        ((8, 8), "Convert the images to 3 channels"),
        ((192, 1), "Resize"),
    ],
)
def test_another_shape_names_the_remedy(shape, remedy):
    spec = spec_of(PHOTOS)
    with pytest.raises(ValueError, match=remedy):
        check_row_shape(spec, shape)


# ---------------------------------------------------------------- flat images


def test_flat_images_warn(make):
    X, y = flat(DIGITS[:200]), load_digits().target[:200]
    with pytest.warns(InputWarning, match=r"8x8 images.*image_shape=\(8, 8\).*reshape\(-1, 8, 8\)"):
        make(max_epochs=1).fit(X, y)


def test_flat_colours_warn():
    X = np.cumsum(np.cumsum(np.random.RandomState(0).normal(size=(90, 10, 10, 3)), 1), 2)
    with pytest.warns(InputWarning, match=r"image_shape=\(10, 10, 3\)"):
        warn_of_flat_images(flat(X))


def tables():
    rng = np.random.RandomState(0)
    time = np.linspace(0, 1, 64)
    yield "noise", rng.normal(size=(100, 64))
    yield "a common factor", rng.normal(size=(100, 1)) + rng.normal(size=(100, 64))
    yield "random walks", np.cumsum(rng.normal(size=(100, 64)), axis=1)
    yield "waves", np.sin(2 * np.pi * (rng.uniform(1, 5, (100, 1)) * time + rng.rand(100, 1)))
    yield "counts", rng.poisson(0.3, size=(100, 64)).astype(float)
    yield "few columns", flat(DIGITS)[:100, :60]
    yield "few rows", flat(DIGITS)[:10]
    yield "constant", np.ones((100, 64))
    yield "gaps", np.where(rng.rand(100, 64) < 0.1, np.nan, flat(DIGITS)[:100])


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in tables()])
def test_tables_do_not_look_like_images(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_flat_images(X)

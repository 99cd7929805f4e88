"""`SamplesDisplay` and `InterpolationDisplay`: mosaics of images, tables of tabular rows."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from sk_equivae import (
    EquiVAEClassifier,
    EquiVAETransformer,
    InterpolationDisplay,
    SamplesDisplay,
)
from tests._tables import FAST, make_table

from ._tiles import tile


def test_samples_stand_in_columns(image_model):
    display = SamplesDisplay.from_estimator(image_model, n_samples=3, random_state=0)
    X, _ = image_model.sample(12, np.tile([0, 1, 2, 3], 3), random_state=0)
    assert display.samples.shape == (3, 4, 8, 8)
    image = display.im_.get_array()
    assert image.shape == (3 * 9 - 1, 4 * 9 - 1)
    np.testing.assert_allclose(tile(image, 0, 2), X[2])
    np.testing.assert_allclose(tile(image, 2, 1), X[9])
    assert image.mask[8].all()  # a gap
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "1", "2", "3"]
    assert display.im_.get_cmap().name == "gray_r"
    assert display.im_.get_clim() == (0, 1)


def test_samples_of_some_classes_on_given_axes(image_model):
    _, ax = plt.subplots()
    display = SamplesDisplay.from_estimator(image_model, classes=[3, 1], ax=ax, cmap="magma")
    assert display.ax_ is ax
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3", "1"]
    assert display.im_.get_cmap().name == "magma"


def test_colours_and_bytes():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 256, size=(20, 8, 8, 3)).astype(np.uint8)
    model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0)
    model.fit(X, np.arange(20) % 2)
    display = SamplesDisplay.from_estimator(model, n_samples=2, random_state=0)
    image = np.asarray(display.im_.get_array())
    assert image.shape == (17, 17, 4)
    np.testing.assert_allclose(tile(image, 1, 0)[..., :3], display.samples[1, 0] / 255)
    assert (tile(image, 1, 0)[..., 3] == 1).all()
    assert (image[8, :, 3] == 0).all()


@pytest.mark.parametrize("n_channels", [2, 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_images_without_colours_are_drawn_in_grey(n_channels, dtype):
    rng = np.random.RandomState(0)
    X = rng.randint(0, 256, size=(20, 8, 8, n_channels)).astype(dtype)
    model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0)
    model.fit(X, np.arange(20) % 2)
    display = SamplesDisplay.from_estimator(model, n_samples=2, random_state=0)
    samples, _ = model.sample(4, [0, 1, 0, 1], random_state=0)
    expected = samples.reshape(2, 2, 8, 8, n_channels).mean(axis=-1)
    np.testing.assert_allclose(display.samples, expected)
    np.testing.assert_allclose(tile(display.im_.get_array(), 1, 0), expected[1, 0])
    limits = (0, 255) if dtype == np.uint8 else (expected.min(), expected.max())
    np.testing.assert_allclose(display.im_.get_clim(), limits)
    display = InterpolationDisplay.from_estimator(model, X[:2], X[2:4], n_steps=3)
    np.testing.assert_allclose(tile(display.im_.get_array(), 1, 0), X[1].mean(axis=-1))


def test_interpolation_between_its_originals(image_model, digits):
    X, _ = digits
    display = InterpolationDisplay.from_estimator(image_model, X[:2], X[2:4], n_steps=5)
    image = display.im_.get_array()
    steps = image_model.interpolate(X[:2], X[2:4], n_steps=5)
    np.testing.assert_allclose(tile(image, 1, 0), X[1])
    np.testing.assert_allclose(tile(image, 1, 1, wide=1), steps[1, 0], rtol=1e-5)
    np.testing.assert_allclose(tile(image, 0, 5, wide=1), steps[0, 4], rtol=1e-5)
    np.testing.assert_allclose(tile(image, 0, 6, wide=2), X[2])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["from", "to"]
    plain = InterpolationDisplay(steps).plot()
    assert plain.im_.get_array().shape == (17, 5 * 9 - 1)


def test_real_images_above_the_samples(image_model, digits):
    X, y = digits
    display = SamplesDisplay.from_estimator(image_model, X, y, n_samples=2, random_state=0)
    image = display.im_.get_array()
    shown = tile(image, 1, 3)
    assert any(np.array_equal(shown, row) for row in X[y == 3])
    np.testing.assert_allclose(tile(image[3:], 2, 1), display.samples[0, 1])  # a wide gap
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["real", "generated"]
    with pytest.raises(ValueError, match="both X and y, or none of them; got only X"):
        SamplesDisplay.from_estimator(image_model, X)


def test_tabular_samples_beside_real_rows(tabular_model):
    X, y = load_iris(return_X_y=True, as_frame=True)
    display = SamplesDisplay.from_estimator(tabular_model, X, y, n_samples=5, random_state=0)
    values = display.im_.get_array()
    assert values.shape == (30, 4)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(values.std(axis=0), 1)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [f"{c}, {kind}" for c in range(3) for kind in ("real", "generated")]
    assert display.ax_.get_xticklabels()[0].get_text() == "sepal length (cm)"
    # values in centimetres: the first row is one of the first class, the sixth is generated
    written = np.array([float(text.get_text()) for text in display.ax_.texts]).reshape(30, 4)
    assert (np.isclose(X[y == 0].to_numpy(), written[0]).all(axis=1)).any()
    np.testing.assert_allclose(written[5:10], display.samples[:, 0], rtol=0.01)
    plain = SamplesDisplay.from_estimator(tabular_model, n_samples=5, random_state=0)
    np.testing.assert_allclose(plain.samples, display.samples)
    assert [text.get_text() for text in plain.ax_.get_yticklabels()] == ["0", "1", "2"]


def test_tabular_interpolation_between_its_originals(tabular_model):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    display = InterpolationDisplay.from_estimator(tabular_model, X[:2], X[100:102], n_steps=4)
    assert display.im_.get_array().shape == (2 * (1 + 4 + 1), 4)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["from", "pair 0", "to", "from", "pair 1", "to"]
    assert display.ax_.texts[0].get_text() == f"{X.iloc[0, 0]:.3g}"


def test_text_is_legible_on_its_cell(tabular_model):
    """White on dark cells, black on light ones, whatever the style."""
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            display = SamplesDisplay.from_estimator(tabular_model, n_samples=3, random_state=0)
            cells = display.im_.to_rgba(display.im_.get_array())[..., :3].reshape(-1, 3)
            for text, cell in zip(display.ax_.texts, cells, strict=True):
                ink = 1.0 if text.get_color() == "white" else 0.0
                assert np.abs(ink - cell @ [0.2126, 0.7152, 0.0722]) > 0.35


def test_small_axes_have_colours_alone(tabular_model):
    _, ax = plt.subplots(figsize=(2, 1.5))
    assert not SamplesDisplay.from_estimator(tabular_model, ax=ax).ax_.texts


def test_many_classes_one_sample_each():
    """No warning that labels look like numbers, and no figure of a hundred inches."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(120, 3)), np.repeat(np.arange(40), 3)
    X[0, 1] = np.nan
    model = EquiVAEClassifier(**FAST).fit(X, y)
    display = SamplesDisplay.from_estimator(model, X, y, n_samples=1, random_state=0)
    assert display.samples.shape == (1, 40, 3)
    SamplesDisplay.from_estimator(model, X, y, n_samples=8, random_state=0)
    assert display.figure_.get_size_inches().max() <= 30


@pytest.mark.parametrize("n_classes", [3, 40])
def test_long_names_leave_room_for_the_title(n_classes):
    classes = np.array([f"a long name, {i}" for i in range(n_classes)])
    display = SamplesDisplay(np.ones((2, n_classes, 8, 8)), classes=classes).plot()
    display.figure_.canvas.draw()
    assert display.ax_.title.get_window_extent().y1 <= display.figure_.bbox.y1


def test_categories_are_written_into_the_heat_map():
    X, y = make_table()
    model = EquiVAEClassifier(**FAST).fit(X, y)
    samples = SamplesDisplay.from_estimator(model, n_samples=3, random_state=0)
    assert samples.samples.shape == (3, 2, 5)
    written = {text.get_text() for text in samples.ax_.texts}
    assert written & {"red", "green", "blue"}
    paths = InterpolationDisplay.from_estimator(model, X[:2], X[2:4], n_steps=3)
    assert paths.steps.shape == (2, 3, 5)
    assert len(paths.ax_.texts) == 2 * 5 * 5  # originals too; missing values have a dash

"""`StyleTransferDisplay` and `LatentGridDisplay`: grids of images."""

import types

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from sk_equivae import LatentGridDisplay, StyleTransferDisplay
from sk_equivae.display.latent_grid import sheet_of_r, sheet_of_v

from ._tiles import tile


def test_style_transfer_has_the_originals_on_its_margins(image_model, digits):
    X, _ = digits
    content, style = X[:2], X[10:13]
    display = StyleTransferDisplay.from_estimator(image_model, content, style)
    image = display.im_.get_array()
    grid = image_model.transfer_style(content, style, grid=True)
    assert tile(image, 0, 0).mask.all()
    np.testing.assert_allclose(tile(image, 0, 2, wide=1), style[1])
    below = image[3:]  # the wide gap below the styles
    np.testing.assert_allclose(tile(below, 2, 0), content[1])
    np.testing.assert_allclose(tile(below, 2, 3, wide=1), grid[1, 2], rtol=1e-5)


def test_plane_of_v(plane_model):
    """Within two standard deviations of v in the class, around its mean."""
    display = LatentGridDisplay.from_estimator(plane_model, label=2, n_steps=3)
    assert display.x.tolist() == [-2, 0, 2]
    assert display.y.tolist() == [2, 0, -2]
    spread = np.sqrt(np.diag(plane_model.v_covariance_[2]))
    lower_right = plane_model.v_mean_[2] + spread * [2, -2]
    plane_model.set_params(representation="latent")
    corner = plane_model.inverse_transform([[*plane_model.prototypes_[2], *lower_right]])
    plane_model.set_params(representation="invariant")
    np.testing.assert_allclose(
        tile(display.im_.get_array(), 2, 2), corner.reshape(8, 8), rtol=1e-4, atol=1e-6
    )
    assert "v of class 2" in display.ax_.get_title()
    assert display.ax_.get_xlabel() == "v0"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["2", "-2"]


def test_plane_of_r(plane_model):
    display = LatentGridDisplay.from_estimator(plane_model, latent="invariant", n_steps=4)
    r = plane_model.prototypes_
    np.testing.assert_allclose([display.x[0], display.x[-1]], [r[:, 0].min(), r[:, 0].max()])
    np.testing.assert_allclose([display.y[0], display.y[-1]], [r[:, 1].max(), r[:, 1].min()])
    assert [text.get_text() for text in display.texts_] == ["0", "1", "2", "3"]
    highest, lowest = r[:, 1].argmax(), r[:, 1].argmin()
    assert display.texts_[highest].get_position()[1] == pytest.approx(3.5)  # pixels go down
    assert display.texts_[lowest].get_position()[1] == pytest.approx(3 * 9 + 3.5)


def test_principal_and_chosen_directions_of_v(image_model):
    """Of three dimensions: the display of a model needs no second training."""
    model = fake_model()
    sheet = sheet_of_v(model, 1, 3)
    variances, vectors = np.linalg.eigh(model.v_covariance[1])
    right = sheet.v[5] - sheet.v[4]  # the middle row: one step to the right
    np.testing.assert_allclose(np.linalg.norm(right), 2 * np.sqrt(variances[-1]))
    assert abs(right @ vectors[:, -1]) == pytest.approx(2 * np.sqrt(variances[-1]))
    np.testing.assert_allclose(sheet.v[4], model.v_mean[1])
    assert sheet.names[0] == "first principal direction of v"
    sheet = sheet_of_v(model, 1, 3, directions=(2, 0))
    deviation = np.sqrt(model.v_covariance[1][2, 2])
    np.testing.assert_allclose(sheet.v[5] - sheet.v[4], [0, 0, 2 * deviation], atol=1e-12)
    assert sheet.names == ("v2", "v0")
    for wrong in ((0, 3), (0, 1, 2), ()):
        with pytest.raises(ValueError, match="two positions from 0 to 2, or None"):
            sheet_of_v(model, 1, 3, directions=wrong)
    display = LatentGridDisplay.from_estimator(image_model, latent="invariant", directions=(0, 2))
    assert display.ax_.get_ylabel() == "r2"  # a latent of three dimensions


@pytest.mark.parametrize("directions", [None, (0, 2)])
def test_sheet_of_r_passes_through_the_prototypes(directions):
    model = fake_model()
    sheet = sheet_of_r(model, 301, directions)
    assert set(sheet.prototypes) == {"a", "c"}  # b has no rows
    plane = np.stack(np.meshgrid(sheet.x, sheet.y), axis=-1).reshape(-1, 2)
    for code, place in zip((0, 2), sheet.prototypes.values(), strict=True):
        nearest = np.linalg.norm(plane - place, axis=1).argmin()
        np.testing.assert_allclose(sheet.r[nearest], model.prototypes[code], atol=0.05)
        np.testing.assert_allclose(sheet.v[nearest], model.v_mean[code], atol=0.05)


def fake_model():
    """What the sheets need of a model: three classes, three dimensions, one without rows."""
    rng = np.random.RandomState(0)
    roots = rng.normal(size=(3, 3, 3))
    prototypes = rng.normal(size=(3, 3))
    prototypes[1] = np.nan
    return types.SimpleNamespace(
        classes=np.array(["a", "b", "c"]), prototypes=prototypes,
        has_prototype=np.array([True, False, True]), v_mean=rng.normal(size=(3, 3)),
        v_covariance=roots @ roots.swapaxes(1, 2),
    )  # fmt: skip


def test_one_dimension_is_drawn_along_x():
    model = fake_model()
    model.v_mean, model.v_covariance = model.v_mean[:, :1], model.v_covariance[:, :1, :1]
    sheet = sheet_of_v(model, 0, 3)
    assert sheet.v.shape == (9, 1)
    assert sheet.v[0] == sheet.v[3] != sheet.v[1]


def test_unknown_latent(image_model):
    with pytest.raises(ValueError, match="latent should be 'invariant' or 'equivariant'; got 'r'"):
        LatentGridDisplay.from_estimator(image_model, latent="r")


def test_style_of_the_background(image_model, digits):
    X, _ = digits
    with plt.style.context("dark_background"):
        assert LatentGridDisplay.from_estimator(image_model).im_.get_cmap().name == "gray"
        shown = StyleTransferDisplay.from_estimator(image_model, X[:1], X[1:2])
        assert shown.im_.get_cmap().name == "gray"


def test_tabular_rows_have_no_grids_of_images(tabular_model):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"StyleTransferDisplay expects an estimator of images"):
        StyleTransferDisplay.from_estimator(tabular_model, X[:2], X[:2])
    with pytest.raises(ValueError, match=r"got one of tabular rows of 4 features.*image_shape"):
        LatentGridDisplay.from_estimator(tabular_model)

"""`StyleTransferDisplay` and `LatentGridDisplay`: grids of images."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sk_equivae import LatentGridDisplay, StyleTransferDisplay

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
    display = LatentGridDisplay.from_estimator(plane_model, label=2, n_steps=3)
    assert display.x.tolist() == [-2, 0, 2]
    assert display.y.tolist() == [2, 0, -2]
    plane_model.set_params(representation="both")
    corner = plane_model.inverse_transform([[*plane_model.prototypes_[2], 2.0, -2.0]])
    plane_model.set_params(representation="invariant")
    np.testing.assert_allclose(
        tile(display.im_.get_array(), 2, 2), corner.reshape(8, 8), rtol=1e-4, atol=1e-6
    )
    assert "r of 2" in display.ax_.get_title()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["2", "-2"]


def test_plane_of_r(plane_model):
    display = LatentGridDisplay.from_estimator(plane_model, latent="invariant", n_steps=4)
    r = plane_model.prototypes_
    np.testing.assert_allclose([display.x[0], display.x[-1]], [r[:, 0].min(), r[:, 0].max()])
    np.testing.assert_allclose([display.y[0], display.y[-1]], [r[:, 1].max(), r[:, 1].min()])
    first = plane_model.inverse_transform([[display.x[0], display.y[0]]])
    np.testing.assert_allclose(
        tile(display.im_.get_array(), 0, 0), first.reshape(8, 8), rtol=1e-4, atol=1e-6
    )
    assert [text.get_text() for text in display.texts_] == ["0", "1", "2", "3"]
    highest, lowest = r[:, 1].argmax(), r[:, 1].argmin()
    assert display.texts_[highest].get_position()[1] == pytest.approx(3.5)  # pixels go down
    assert display.texts_[lowest].get_position()[1] == pytest.approx(3 * 9 + 3.5)


def test_plane_needs_two_dimensions(image_model):
    with pytest.raises(ValueError, match=r"two invariant dimensions; got 3.*latent_dim=\(2, 2\)"):
        LatentGridDisplay.from_estimator(image_model, latent="invariant")
    with pytest.raises(ValueError, match="latent should be 'invariant' or 'equivariant'; got 'r'"):
        LatentGridDisplay.from_estimator(image_model, latent="r")


def test_tabular_rows_have_no_grids_of_images(tabular_model):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"StyleTransferDisplay expects an estimator of images"):
        StyleTransferDisplay.from_estimator(tabular_model, X[:2], X[:2])
    with pytest.raises(ValueError, match=r"got one of tabular rows of 4 features.*image_shape"):
        LatentGridDisplay.from_estimator(tabular_model)

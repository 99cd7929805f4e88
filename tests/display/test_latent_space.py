"""`LatentSpaceDisplay`: the two latent spaces, and how they become planes."""

import sys
import types

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from sk_equivae import LatentSpaceDisplay
from sk_equivae.display.latent_space import class_colors, reduce_to_plane


def test_latent_spaces(image_model, digits):
    X, y = digits
    display = LatentSpaceDisplay.from_estimator(image_model, X, y, method="pca")
    assert display.invariant.shape == display.equivariant.shape == (80, 2)
    v = image_model.set_params(representation="equivariant").transform(X)
    image_model.set_params(representation="invariant")
    np.testing.assert_allclose(display.equivariant, v, rtol=1e-5)  # two dimensions stay
    for points, scatters in zip(
        (display.invariant, display.equivariant), display.scatters_, strict=True
    ):
        assert len(scatters) == 4
        for code, scatter in enumerate(scatters):
            np.testing.assert_allclose(scatter.get_offsets(), points[y == code])
    colors = [tuple(scatter.get_facecolor()[0]) for scatter in display.scatters_[0]]
    assert len(set(colors)) == 4
    assert display.axes_[0].get_title().startswith("invariant r (PCA, ")
    assert display.axes_[1].get_title() == "equivariant v"
    assert display.axes_[1].get_xlabel() == "v0"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names == ["0", "1", "2", "3", "r of class"]
    assert len(display.prototypes_artist_.get_offsets()) == 4
    assert display.figure_ is display.axes_[0].figure


def test_prototypes_lie_where_r_does(plane_model, digits):
    X, _ = digits
    display = LatentSpaceDisplay.from_estimator(plane_model, X)
    np.testing.assert_allclose(display.prototypes, plane_model.prototypes_)
    np.testing.assert_allclose(display.invariant, plane_model.transform(X), rtol=1e-5)


def test_unlabelled_rows_are_grey_and_below(image_model, digits):
    X, y = digits
    few = np.where(np.arange(80) < 20, y, -1)
    display = LatentSpaceDisplay.from_estimator(image_model, X, few, method="pca", cmap="viridis")
    grey = display.scatters_[0][0]
    assert grey.get_label() == "unlabelled"
    assert len(grey.get_offsets()) == 60
    np.testing.assert_allclose(grey.get_facecolor()[0, :3], 0.75)
    np.testing.assert_allclose(
        display.scatters_[0][1].get_facecolor()[0, :3], matplotlib.colormaps["viridis"](0)[:3]
    )


def test_latent_spaces_on_given_axes(image_model, digits):
    X, y = digits
    _, axes = plt.subplots(2, 1)
    display = LatentSpaceDisplay.from_estimator(image_model, X, y, method="pca", ax=axes, s=3)
    assert list(display.axes_) == list(axes)
    assert display.scatters_[0][0].get_sizes().tolist() == [3]
    with pytest.raises(ValueError, match=r"expects two Axes, for r and v; got 1"):
        display.plot(ax=axes[0])
    with pytest.raises(ValueError, match="method should be 'auto', 'umap' or 'pca'; got 'tsne'"):
        LatentSpaceDisplay.from_estimator(image_model, X, method="tsne")


def test_umap_where_it_is_installed(monkeypatch):
    class UMAP:
        def __init__(self, **parameters):
            self.parameters = parameters

        def fit_transform(self, Z):
            return np.full((len(Z), self.parameters["n_components"]), 7.0)

    Z = np.random.RandomState(0).normal(size=(20, 5))
    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    points, how = reduce_to_plane(Z)
    assert how == "UMAP"
    assert (points == 7).all()
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not there
    assert reduce_to_plane(Z)[1].startswith("PCA")
    with pytest.raises(ImportError, match=r"umap-learn, which is not installed.*method='pca'"):
        reduce_to_plane(Z, method="umap")


@pytest.mark.parametrize("fails", [False, True])
def test_umap_leaves_the_threads_of_torch(fails, monkeypatch, image_model, digits):
    class UMAP:
        def __init__(self, **parameters):
            pass

        def fit_transform(self, Z):
            torch.set_num_threads(torch.get_num_threads() + 1)
            if fails:
                raise RuntimeError("no neighbours")
            return Z[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    before = torch.get_num_threads()
    try:
        if fails:
            with pytest.raises(RuntimeError, match="no neighbours"):
                LatentSpaceDisplay.from_estimator(image_model, *digits)
        else:
            display = LatentSpaceDisplay.from_estimator(image_model, *digits)
            assert display.methods == ("UMAP", "")
        assert torch.get_num_threads() == before
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("n_classes", [2, 10, 15, 40])
def test_every_class_has_its_colour(n_classes):
    assert len({tuple(color) for color in class_colors(n_classes)}) == n_classes

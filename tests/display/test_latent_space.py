"""`LatentSpaceDisplay`: the two latent spaces, and how they become planes."""

import itertools
import sys
import types

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from sk_equivae import LatentSpaceDisplay
from sk_equivae.display.colors import PALETTE, class_colors, class_markers, gray_map
from sk_equivae.display.plane import reduce_to_plane


def test_latent_spaces(image_model, digits):
    X, y = digits
    display = LatentSpaceDisplay.from_estimator(image_model, X, y)
    assert display.invariant.shape == display.equivariant.shape == (80, 2)
    v = image_model.set_params(representation="equivariant").transform(X)
    image_model.set_params(representation="invariant")
    np.testing.assert_allclose(display.equivariant, v, rtol=1e-5)  # two dimensions stay
    assert sorted(display.order_) == list(range(80))
    assert (np.diff(y[display.order_]) < 0).any(), "drawn class by class"
    points = (display.invariant, display.equivariant)
    colors = np.array(class_colors(4))[y[display.order_]]
    for space, scatter in zip(points, display.scatters_, strict=True):
        np.testing.assert_allclose(scatter.get_offsets(), space[display.order_])
        np.testing.assert_allclose(scatter.get_facecolors()[:, :3], colors[:, :3])
    assert display.axes_[0].get_title() == "invariant r"
    assert display.axes_[0].get_xlabel().startswith("PCA, ")
    assert display.axes_[1].get_title() == "equivariant v"
    assert display.axes_[1].get_xlabel() == "v0"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names == ["0", "1", "2", "3"]
    assert [text.get_text() for text in display.names_] == ["0", "1", "2", "3"]
    assert display.figure_ is display.axes_[0].figure


def test_names_stand_where_the_prototypes_are(plane_model, digits):
    X, _ = digits
    display = LatentSpaceDisplay.from_estimator(plane_model, X)
    np.testing.assert_allclose(display.prototypes, plane_model.prototypes_)
    places = [text.get_position() for text in display.names_]
    np.testing.assert_allclose(places, plane_model.prototypes_)
    np.testing.assert_allclose(display.invariant, plane_model.transform(X), rtol=1e-5)


def test_unlabelled_rows_are_rings_and_below(image_model, digits):
    X, y = digits
    few = np.where(np.arange(80) < 20, y, -1)
    display = LatentSpaceDisplay.from_estimator(image_model, X, few, cmap="viridis")
    rings, others = display.unlabeled_[0], display.scatters_[0]
    assert len(rings.get_offsets()) == 60
    assert len(rings.get_facecolors()) == 0
    assert others.get_sizes()[0] > rings.get_sizes()[0]
    children = display.axes_[0].get_children()
    assert children.index(rings) < children.index(others)
    first = np.flatnonzero(few[display.order_] == 0)[0]
    expected = matplotlib.colormaps["viridis"](0)[:3]
    np.testing.assert_allclose(others.get_facecolors()[first, :3], expected)
    assert display.legend_.get_texts()[-1].get_text() == "unlabelled"


def test_latent_spaces_on_given_axes(image_model, digits):
    X, y = digits
    _, axes = plt.subplots(2, 1)
    display = LatentSpaceDisplay.from_estimator(image_model, X, y, ax=axes, s=3)
    assert list(display.axes_) == list(axes)
    assert display.scatters_[0].get_sizes().tolist() == [3]
    with pytest.raises(ValueError, match=r"expects two Axes, for r and v; got 1"):
        display.plot(ax=axes[0])
    with pytest.raises(ValueError, match="method should be 'pca' or 'umap'; got 'tsne'"):
        LatentSpaceDisplay.from_estimator(image_model, X, method="tsne")


def test_a_latent_that_is_not_used():
    points, how = reduce_to_plane(np.ones((5, 4)))
    assert how.startswith("all the same")
    assert not points.any()


@pytest.mark.parametrize("n_dimensions", [1, 4])
def test_one_used_dimension_is_spread(n_dimensions):
    Z = np.zeros((5, n_dimensions))
    Z[:, -1] = np.arange(5)
    points, how = reduce_to_plane(Z)
    assert how == "one dimension is used; heights are random"
    np.testing.assert_array_equal(points[:, 0], np.arange(5))
    assert len(np.unique(points[:, 1])) == 5


def many(n_classes, name="class {}"):
    """A display of many classes, without a model."""
    rng = np.random.RandomState(0)
    codes = np.repeat(np.arange(n_classes), 5)
    centres = 10 * rng.normal(size=(n_classes, 2))
    points = centres[codes] + rng.normal(size=(len(codes), 2))
    classes = np.array([name.format(i) for i in range(n_classes)])
    return LatentSpaceDisplay(points, points, codes=codes, classes=classes, prototypes=centres)


@pytest.mark.parametrize("n_classes", [2, 10, 40])
@pytest.mark.parametrize("layout", ["constrained", "none"])
@pytest.mark.parametrize("size", [(10, 4.6), (5, 2.5), (3, 1.6)])
def test_legend_stays_inside_the_figure(n_classes, layout, size):
    with plt.style.context("dark_background"):
        figure, axes = plt.subplots(1, 2, figsize=size, layout=layout)
        legend = many(n_classes).plot(ax=axes).legend_
        figure.draw_without_rendering()  # warns, an error here, if the layout does not work out
        if size == (10, 4.6):
            assert legend is not None
        if legend is not None:
            box, whole = legend.get_window_extent(), figure.bbox
            assert box.x1 <= whole.x1 + 1
            assert box.y0 >= whole.y0 - 1
            assert len(legend.get_texts()) == n_classes


def test_long_names_are_shortened_and_crowded_ones_left_out():
    display = many(3, "a name that is too long to be written {}").plot()
    assert all(len(text.get_text()) < 20 for text in display.names_)
    _, axes = plt.subplots(1, 2, figsize=(4, 2))
    assert many(40).plot(ax=axes).names_ == []


def test_umap_by_name(monkeypatch):
    class UMAP:
        def __init__(self, **parameters):
            self.parameters = parameters

        def fit_transform(self, Z):
            return np.full((len(Z), self.parameters["n_components"]), 7.0)

    Z = np.random.RandomState(0).normal(size=(20, 5))
    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    assert reduce_to_plane(Z)[1].startswith("PCA")
    points, how = reduce_to_plane(Z, "umap")
    assert how == "UMAP"
    assert (points == 7).all()
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not there
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
                LatentSpaceDisplay.from_estimator(image_model, *digits, method="umap")
        else:
            display = LatentSpaceDisplay.from_estimator(image_model, *digits, method="umap")
            assert display.methods == ("UMAP", "")
        assert torch.get_num_threads() == before
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("n_classes", [2, 10, 15, 40, 100])
def test_every_class_looks_different(n_classes):
    looks = zip(class_colors(n_classes), class_markers(n_classes), strict=True)
    assert len(set(looks)) == n_classes
    assert len({tuple(color) for color in class_colors(n_classes, "turbo")}) == n_classes


# Machado, Oliveira and Fernandes (2009): what linear RGB becomes without one kind of cone.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(linear):
    """CIELAB of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = linear @ np.transpose(to_xyz) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("vision", VISION)
def test_colours_differ_for_everyone(vision):
    def smallest_distance(colors):
        rgb = np.array([to_rgb(color) for color in colors])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        seen = lab(np.clip(linear @ np.transpose(VISION[vision]), 0, 1))
        return min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))

    assert smallest_distance(PALETTE) > 15
    if vision in ("protanopia", "deuteranopia"):
        assert smallest_distance(matplotlib.colormaps["tab10"].colors) < 8  # the test can fail


def test_grey_images_follow_the_background():
    assert gray_map(plt.subplots()[1]) == "gray_r"
    with plt.style.context("dark_background"):
        assert gray_map(plt.subplots()[1]) == "gray"

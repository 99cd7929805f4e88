"""Displays: what they compute and the artists they leave."""

import builtins
import subprocess
import sys
import types

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from sk_equivae import (
    EquiVAEClassifier,
    EquiVAETransformer,
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LearningCurveDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
)
from sk_equivae._display import class_colors, reduce_to_plane


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:80].reshape(-1, 8, 8) / 16, y[:80]


@pytest.fixture(scope="module")
def image_model(digits):
    model = EquiVAEClassifier(
        latent_dim=(3, 2), likelihood="bernoulli", max_epochs=1, random_state=0
    )
    return model.fit(*digits)


@pytest.fixture(scope="module")
def plane_model(digits):
    X, y = digits
    model = EquiVAETransformer(
        latent_dim=2, image_shape=(8, 8), max_epochs=2, early_stopping=True, random_state=0
    )
    return model.fit(X.reshape(-1, 64), y)


@pytest.fixture(scope="module")
def tabular_model():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return EquiVAEClassifier(latent_dim=2, max_epochs=2, random_state=0).fit(X, y)


def tile(image, i, j, size=8, gap=1, wide=0):
    """The tile of a mosaic at row i and column j, after so many wide gaps to the left."""
    left = j * (size + gap) + 3 * gap * wide
    return image[i * (size + gap) : i * (size + gap) + size, left : left + size]


# -------------------------------------------------------------------- latent spaces


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


@pytest.mark.parametrize("n_classes", [2, 10, 15, 40])
def test_every_class_has_its_colour(n_classes):
    assert len({tuple(color) for color in class_colors(n_classes)}) == n_classes


# -------------------------------------------------------------------- learning curves


def test_learning_curves_add_up(plane_model):
    display = LearningCurveDisplay.from_estimator(plane_model)
    assert set(display.lines_) == {
        f"{side}_{part}"
        for side in ("train", "valid")
        for part in ("elbo", "reconstruction", "negative_kl")
    }
    history = plane_model.history_
    for side in ("train", "valid"):
        bound, reconstruction, negative_kl = (
            display.lines_[f"{side}_{part}"].get_ydata()
            for part in ("elbo", "reconstruction", "negative_kl")
        )
        np.testing.assert_allclose(bound, [row[f"{side}_elbo"] for row in history])
        np.testing.assert_allclose(reconstruction + negative_kl, bound)
        kl = [row[f"{side}_kl_v"] + row[f"{side}_kl_y"] - row[f"{side}_log_p_y"] for row in history]
        np.testing.assert_allclose(negative_kl, -np.array(kl), rtol=1e-4, atol=1e-4)
    assert display.lines_["train_elbo"].get_xdata().tolist() == [1, 2]
    assert display.lines_["valid_elbo"].get_linestyle() == "--"
    assert display.ax_.get_xlabel() == "epoch"
    assert len(display.ax_.get_legend().get_texts()) == 6


def test_learning_curves_without_validation(image_model):
    _, ax = plt.subplots()
    display = LearningCurveDisplay.from_estimator(image_model, ax=ax, linewidth=3)
    assert display.ax_ is ax
    assert len(ax.lines) == 3
    assert ax.lines[0].get_linewidth() == 3
    assert ax.lines[0].get_marker() == "o"  # a line of one point would not be seen
    with pytest.raises(ValueError, match=r"history with 'train_elbo'; got 0 epochs.*history_"):
        LearningCurveDisplay([]).plot()


# -------------------------------------------------------------------- images


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
    two = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0)
    two.fit(X[..., :2], np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"1, 3 or 4 channels; got 2.*single channels"):
        SamplesDisplay.from_estimator(two)


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


# -------------------------------------------------------------------- tabular rows


def test_tabular_samples_are_a_heat_map(tabular_model):
    display = SamplesDisplay.from_estimator(tabular_model, n_samples=5, random_state=0)
    values = display.im_.get_array()
    assert values.shape == (15, 4)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(values.std(axis=0), 1)
    rows = display.samples[:, 2]  # the third class is at the bottom
    order = np.argsort(np.asarray(values)[10:, 0])
    np.testing.assert_array_equal(order, np.argsort(rows[:, 0]))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0", "1", "2"]
    assert display.ax_.get_xticklabels()[0].get_text() == "sepal length (cm)"


def test_tabular_interpolation_is_a_heat_map(tabular_model):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    display = InterpolationDisplay.from_estimator(tabular_model, X[:2], X[100:102], n_steps=4)
    assert display.im_.get_array().shape == (8, 4)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["pair 0", "pair 1"]


def test_tabular_rows_have_no_grids_of_images(tabular_model):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"StyleTransferDisplay expects an estimator of images"):
        StyleTransferDisplay.from_estimator(tabular_model, X[:2], X[:2])
    with pytest.raises(ValueError, match=r"got one of tabular rows of 4 features.*image_shape"):
        LatentGridDisplay.from_estimator(tabular_model)


# -------------------------------------------------------------------- matplotlib


def test_matplotlib_is_imported_late():
    code = "import sys, sk_equivae; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib(monkeypatch):
    plain_import = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    for display in (
        SamplesDisplay(np.zeros((1, 2, 8, 8)), classes=[0, 1]),
        LearningCurveDisplay([{"train_elbo": -1.0}]),
        LatentSpaceDisplay(np.eye(2), np.eye(2), codes=np.arange(2), classes=np.arange(2)),
    ):
        with pytest.raises(ImportError, match=r"plot requires matplotlib"):
            display.plot()

"""Generated rows could be real ones, and may be drawn from p(x | r, v)."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, load


@pytest.fixture(scope="module")
def table():
    """Numbers of five kinds: counts, measurements above 0 and below, any, and a constant."""
    rng = np.random.RandomState(0)
    y = np.arange(80) % 2
    size = rng.exponential(size=80) + 0.5 * y
    X = np.stack(
        [np.floor(4 * size), size**2, -(size**2), rng.normal(size=80) + y, np.full(80, 7.5)], axis=1
    )
    return X, y


@pytest.fixture(scope="module")
def model(table):
    return EquiVAEClassifier(latent_dim=2, max_epochs=5, random_state=0).fit(*table)


def assert_possible(rows, X):
    rows = np.asarray(rows, dtype=float).reshape(-1, 5)
    counts = rows[:, 0]
    np.testing.assert_array_equal(counts, np.rint(counts))
    assert counts.min() >= X[:, 0].min()
    assert counts.max() <= X[:, 0].max()
    assert rows[:, 1].min() >= 0
    assert rows[:, 2].max() <= 0
    assert (rows[:, 4] == 7.5).all()


@pytest.mark.parametrize("kind", ["array", "float32", "pandas", "hdf5", "gaps"])
def test_every_method_gives_rows_that_could_be_real(table, kind, tmp_path):
    X, y = table
    data = X
    if kind == "float32":
        data = X.astype(np.float32)
    elif kind == "pandas":
        data = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    elif kind == "hdf5":
        file = pytest.importorskip("h5py").File(tmp_path / "X.h5", "w")
        data = file.create_dataset("X", data=X)
    elif kind == "gaps":
        data = np.where(np.arange(400).reshape(80, 5) % 11 == 0, np.nan, X)
    params = {"latent_dim": 2, "max_epochs": 2, "random_state": 0}
    model = EquiVAETransformer(representation="both", **params).fit(data, y)
    model.save(tmp_path / "table.equivae")
    for one in (model, load(tmp_path / "table.equivae")):
        sampled = [one.sample(200, noise=noise)[0] for noise in (False, True)]
        assert_possible(sampled[1], X)
        assert_possible(sampled[0], X)
        assert_possible(one.inverse_transform(one.transform(data)), X)
        assert_possible(one.reconstruct(data), X)
        assert_possible(one.interpolate(data[:4], data[4:8], n_steps=3), X)
        assert_possible(one.transfer_style(data[:4], data[4:8], noise=True), X)
        if kind == "gaps":
            assert_possible(one.impute(data), X)
            assert_possible(one.impute(data, n_draws=1)[0], X)
    if kind == "hdf5":
        file.close()


def test_no_cancer_is_of_negative_size():
    X, y = load_breast_cancer(return_X_y=True)
    model = EquiVAEClassifier(latent_dim=8, max_epochs=3, random_state=0).fit(X, y)
    for noise in (False, True):
        rows, _ = model.sample(500, random_state=0, noise=noise)
        assert rows.min() >= 0
    model.model_ = model.model_.replace(rows=replace(model.model_.rows, limits=None))
    assert (model.sample(500, random_state=0, noise=True)[0] < 0).any()


# ---------------------------------------------------------------- draws


def test_noise_is_added_to_the_same_rows(model):
    mean, _ = model.sample(3000, y=1, random_state=3)
    drawn, _ = model.sample(3000, y=1, random_state=3, noise=True)
    again, _ = model.sample(3000, y=1, random_state=3, noise=True)
    np.testing.assert_array_equal(drawn, again)
    assert not np.array_equal(drawn, model.sample(3000, y=1, random_state=4, noise=True)[0])
    # the fourth column is not repaired: its noise is that of p(x | r, v)
    noise = (drawn - mean)[:, 3] / model.model_.rows.scale[3]
    scale = float(model.model_.module.decoder.scale.ravel()[-1])
    assert noise.std() == pytest.approx(scale, rel=0.05)
    assert abs(noise.mean()) < 0.05


def test_styles_are_transferred_with_noise(model, table):
    X, _ = table
    mean = model.transfer_style(X[:2], X[5:8], grid=True)
    one, two = (
        model.transfer_style(X[:2], X[5:8], grid=True, noise=True, random_state=seed)
        for seed in (0, 1)
    )
    assert one.shape == (2, 3, 5)
    assert not np.array_equal(one, two)
    assert not np.array_equal(one, mean)
    own = model.transfer_style(X[:2], X[5:8], grid=True, noise=True)  # random_state=0 of the model
    np.testing.assert_array_equal(own, one)


def test_drawn_pixels_are_black_or_white(images):
    X, y = images
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, likelihood="bernoulli", random_state=0)
    rows, _ = model.fit(X, y).sample(20, noise=True)
    assert rows.shape == (20, 8, 8)
    assert set(np.unique(rows)) == {0.0, 1.0}

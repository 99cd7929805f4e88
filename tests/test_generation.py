"""Verbs on r and v: sample, reconstruct, interpolate, transfer, invert, score."""

import pickle
from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.base import clone

from sk_equivae import EquiVAEClassifier, EquiVAETransformer
from sk_equivae.fitted.loop import map_batches
from sk_equivae.fitted.model import FittedModel
from tests._four_classes import UNITS, four_classes, normalized


def in_batches_of(size, function, *columns, like, batch_size):
    return map_batches(function, *columns, like=like, batch_size=size)


@pytest.fixture(scope="module")
def blobs():
    return four_classes()


@pytest.fixture(scope="module")
def tabular(blobs):
    return EquiVAEClassifier(latent_dim=(3, 2), max_epochs=40, dtype="float64", random_state=0).fit(
        *blobs
    )


@pytest.fixture(scope="module")
def images():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 120, size=(48, 9, 10, 3)).astype(np.uint8)
    y = np.array(["dark", "light"])[np.arange(48) % 2]
    X[y == "light"] += 130
    return X, y


@pytest.fixture(scope="module")
def image_model(images):
    return EquiVAETransformer(latent_dim=3, max_epochs=40, random_state=0).fit(*images)


# -------------------------------------------------------------------- sample


def test_samples_are_rows_of_their_class_in_the_users_units(tabular, blobs):
    X, y = blobs
    rows, labels = tabular.sample(200, random_state=0)
    assert rows.shape == (200, 4)
    assert rows.dtype == X.dtype
    assert (tabular.predict(rows) == labels).mean() > 0.95
    for label in tabular.classes_:
        gap = np.abs(rows[labels == label].mean(axis=0) - X[y == label].mean(axis=0))
        assert (gap / X.std(axis=0) < 0.3).all()


def test_sample_takes_a_label_or_labels(tabular):
    assert tabular.sample(3, y=2, random_state=0)[1].tolist() == [2, 2, 2]
    assert tabular.sample(3, y=[3, 0, 2], random_state=0)[1].tolist() == [3, 0, 2]


def test_classes_are_drawn_from_the_prior(blobs):
    X, y = blobs
    few = np.where((y == 0) | (np.arange(len(y)) % 3 == 0), y, -1)
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, few)
    _, labels = model.sample(4000, random_state=0)
    share = np.bincount(labels) / 4000
    assert model.class_prior_.max() > 0.4
    np.testing.assert_allclose(share, model.class_prior_, atol=0.03)


def test_sample_follows_its_seed_and_no_global_one(tabular):
    first, again = (tabular.sample(5, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, tabular.sample(5, random_state=4)[0])
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    unseeded = pickle.loads(pickle.dumps(tabular)).set_params(random_state=None)
    assert not np.array_equal(*(unseeded.sample(5, y=0)[0] for _ in range(2)))
    tabular.score_samples(first)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_sample_follows_the_seed_of_the_estimator(tabular):
    np.testing.assert_array_equal(tabular.sample(5)[0], tabular.sample(5, random_state=0)[0])


def test_many_samples_go_in_batches(tabular, monkeypatch):
    whole, _ = tabular.sample(50, random_state=0)
    monkeypatch.setattr("sk_equivae.fitted.model.map_batches", partial(in_batches_of, 7))
    np.testing.assert_allclose(tabular.sample(50, random_state=0)[0], whole, rtol=1e-9)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n_samples": 0}, "n_samples should be an int of at least 1; got 0"),
        ({"n_samples": 2.5}, "n_samples should be an int of at least 1; got 2.5"),
        ({"n_samples": 2, "y": 7}, r"labels \[7\] that are not among the classes"),
        ({"n_samples": 2, "y": [0, 1, 2]}, "one label or 2 labels, one per row; got 3"),
        ({"n_samples": 1, "y": -1}, "marker of unlabelled rows, -1. Leave y out"),
    ],
)
def test_sample_says_what_is_wrong(tabular, arguments, message):
    with pytest.raises(ValueError, match=message):
        tabular.sample(**arguments)


def test_announced_class_without_rows(blobs):
    X, y = blobs
    model = EquiVAEClassifier(latent_dim=2, random_state=0)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"got \[3\], announced in `partial_fit` without a row"):
        model.sample(1, y=3)
    assert set(model.sample(50, random_state=0)[1]) == {0, 1}
    assert np.isfinite(model.score_samples(X)).all()


# -------------------------------------------------------------------- images


def test_images_come_back_as_they_were(image_model, images):
    X, y = images
    rows, labels = image_model.sample(4, random_state=0)
    assert rows.shape == (4, 9, 10, 3)
    assert rows.dtype == np.uint8
    assert set(labels) <= {"dark", "light"}
    by_label = [image_model.sample(20, y=name, random_state=0)[0] for name in ("dark", "light")]
    assert by_label[1].mean() > by_label[0].mean() + 20
    assert image_model.reconstruct(X, y).shape == X.shape
    assert image_model.interpolate(X[:2], X[2:4], n_steps=3).shape == (2, 3, 9, 10, 3)
    assert image_model.transfer_style(X[:2], X[:5], grid=True).shape == (2, 5, 9, 10, 3)
    assert image_model.score_samples(X[:3], n_importance=2).shape == (3,)


def test_flattened_images_stay_flat(images):
    X, y = images
    flat = X[..., 0].reshape(len(X), -1) / 255
    model = EquiVAEClassifier(latent_dim=2, image_shape=(9, 10), max_epochs=1, random_state=0)
    model.fit(flat, y)
    assert model.sample(2, random_state=0)[0].shape == (2, 90)
    assert model.reconstruct(flat[:3].reshape(-1, 90)).shape == (3, 90)


# -------------------------------------------------------------------- encode and decode


def test_reconstruction_is_closer_than_the_class_mean(tabular, blobs):
    X, y = blobs
    scale = X.std(axis=0)
    means = np.array([X[y == label].mean(axis=0) for label in range(4)])[y]
    error = np.square((tabular.reconstruct(X) - X) / scale).mean()
    assert error < 0.5 * np.square((means - X) / scale).mean()


def test_reconstruct_takes_classes(tabular, blobs):
    X, y = blobs
    right = tabular.reconstruct(X[:5])
    np.testing.assert_allclose(tabular.reconstruct(X[:5], y[:5]), right)
    np.testing.assert_allclose(tabular.reconstruct(X[:5], [-1] * 5), right)
    wrong = tabular.reconstruct(X[:5], (y[:5] + 1) % 4)
    assert np.abs((wrong - right) / UNITS).max() > 1
    np.testing.assert_allclose(tabular.reconstruct(X[:2], 1), tabular.reconstruct(X[:2], [1, 1]))
    with pytest.raises(ValueError, match="one label or 5 labels"):
        tabular.reconstruct(X[:5], y[:4])


def test_interpolation_ends_at_the_reconstructions(tabular, blobs):
    X, _ = blobs
    A, B = X[:4], X[4:8]
    steps = tabular.interpolate(A, B, n_steps=5)
    assert steps.shape == (4, 5, 4)
    np.testing.assert_allclose(steps[:, 0], tabular.reconstruct(A))
    np.testing.assert_allclose(steps[:, -1], tabular.reconstruct(B))


def test_r_is_fixed_within_a_class_and_moves_between_classes(tabular, blobs, monkeypatch):
    X, y = blobs
    seen = []
    decode = FittedModel.decode

    def noted(model, r, v):
        seen.append((r, v))
        return decode(model, r, v)

    monkeypatch.setattr(FittedModel, "decode", noted)
    same, other = X[y == 0], X[y == 1]
    tabular.interpolate(same[:1], same[1:2], n_steps=5)
    tabular.interpolate(same[:1], other[:1], n_steps=5)
    (r_within, v_within), (r_across, _) = seen
    np.testing.assert_array_equal(r_within, np.tile(r_within[:1], (5, 1)))
    step = np.diff(v_within, axis=0)
    np.testing.assert_allclose(step, np.tile(step[:1], (4, 1)))
    assert np.abs(step).max() > 0
    middle = tabular.prototypes_[:2].mean(axis=0)
    np.testing.assert_allclose(r_across[2], middle)


def test_transfer_takes_the_class_of_one_and_v_of_the_other(tabular, blobs):
    X, y = blobs
    content, style = X[:6], X[6:10]
    grid = tabular.transfer_style(content, style, grid=True)
    assert grid.shape == (6, 4, 4)
    paired = tabular.transfer_style(content[:4], style)
    np.testing.assert_allclose(grid[range(4), range(4)], paired)
    np.testing.assert_array_equal(tabular.predict(grid[:, 0]), y[:6])
    own = tabular.transfer_style(content, content)
    np.testing.assert_allclose(own, tabular.reconstruct(content))


def test_pairs_need_equal_numbers(tabular, blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match=r"got 3 in A and 2 in B. Repeat"):
        tabular.interpolate(X[:3], X[:2])
    with pytest.raises(ValueError, match=r"got 3 in content and 2 in style.*grid=True"):
        tabular.transfer_style(X[:3], X[:2])
    with pytest.raises(ValueError, match="n_steps should be an int of at least 2; got 1"):
        tabular.interpolate(X[:1], X[:1], n_steps=1)
    with pytest.raises(ValueError, match=r"expecting 4 features"):
        tabular.reconstruct(X[:, :3])


def test_inverse_transform(tabular, blobs):
    X, _ = blobs
    model = pickle.loads(pickle.dumps(tabular)).set_params(representation="both")
    Z = model.set_output(transform="pandas").transform(X)
    back = model.inverse_transform(Z)
    assert back.shape == X.shape
    scale = X.std(axis=0)
    assert np.square((back - X) / scale).mean() < 0.2
    model.set_params(representation="invariant")
    r = Z.to_numpy()[:, :3]
    usual = model.inverse_transform(r)
    model.set_params(representation="both")
    np.testing.assert_allclose(usual, model.inverse_transform(np.c_[r, np.zeros((len(r), 2))]))


def test_inverse_transform_says_what_is_wrong(tabular):
    model = pickle.loads(pickle.dumps(tabular))
    with pytest.raises(
        ValueError, match=r"expects 3 columns for representation='invariant'.*got 5"
    ):
        model.inverse_transform(np.zeros((2, 5)))
    model.set_params(representation="equivariant")
    with pytest.raises(
        ValueError, match=r"expects y.*does not tell the class; got none.*set_params"
    ):
        model.inverse_transform(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="got rows without a label"):
        model.inverse_transform(np.zeros((2, 2)), y=[0, -1])


# -------------------------------------------------------------------- score_samples


def exact_log_p(model, X):
    """log p(x) by quadrature over a v of one dimension."""
    module = model.model_.module
    grid = torch.linspace(-8, 8, 4001, dtype=torch.float64)[:, None]
    log_step = np.log(16 / 4000)
    log_prior_v = torch.distributions.Normal(0.0, 1.0).log_prob(grid[:, 0])
    values = []
    with torch.inference_mode():
        for x in normalized(model, X):
            joint = []
            for r, prior in zip(
                torch.from_numpy(model.prototypes_), model.class_prior_, strict=True
            ):
                log_x = module.decode(r.expand(len(grid), -1), grid).log_prob(
                    x.expand(len(grid), -1)
                )
                joint.append(np.log(prior) + logsumexp(log_x + log_prior_v) + log_step)
            values.append(logsumexp(joint))
    return np.array(values)


def test_score_is_a_bound_that_grows_to_log_p(blobs):
    X, y = blobs
    model = EquiVAEClassifier(latent_dim=(3, 1), max_epochs=20, dtype="float64", random_state=0)
    model.fit(X, y)
    exact = exact_log_p(model, X[:12])
    np.testing.assert_allclose(model.score_samples(X[:12], n_importance=5000), exact, atol=0.05)
    one, sixteen = (
        np.mean([model.score_samples(X[:12], n, random_state=seed) for seed in range(30)])
        for n in (1, 16)
    )
    assert one < sixteen < exact.mean() + 0.02


@pytest.mark.filterwarnings("ignore:X has values from .* another scale:UserWarning")
def test_score_finds_outliers_and_is_finite(tabular, blobs):
    X, _ = blobs
    inside = tabular.score_samples(X)
    outside = tabular.score_samples(X.mean(axis=0) + 8 * (X - X.mean(axis=0)))
    assert inside.min() > outside.max()
    assert np.isfinite(tabular.score_samples(np.full((1, 4), 1e30))).all()


def test_score_of_a_row_is_its_own(tabular, blobs, monkeypatch):
    X, _ = blobs
    whole = tabular.score_samples(X[:20])
    np.testing.assert_allclose(tabular.score_samples(X[5:8]), whole[5:8], rtol=1e-9)
    monkeypatch.setattr("sk_equivae.generation.BATCH_SIZE", 32)
    np.testing.assert_allclose(tabular.score_samples(X[:20]), whole, rtol=1e-9)
    assert not np.allclose(tabular.score_samples(X[:20], random_state=1), whole, rtol=1e-9)
    with pytest.raises(ValueError, match="n_importance should be an int of at least 1; got 0"):
        tabular.score_samples(X, n_importance=0)


# -------------------------------------------------------------------- before and after fit


def test_unfitted(blobs):
    X, y = blobs
    model = clone(EquiVAETransformer())
    for call in (
        lambda: model.sample(1),
        lambda: model.reconstruct(X),
        lambda: model.inverse_transform(X),
        lambda: model.score_samples(X),
        lambda: model.add_classes(X, y),
    ):
        with pytest.raises(ValueError, match="not fitted yet"):
            call()


def test_sizes_are_those_of_the_fit(blobs):
    """Not those of a parameter that was set for the next one."""
    X, y = blobs
    model = EquiVAETransformer(latent_dim=(3, 2), representation="both", max_epochs=1).fit(X, y)
    Z = model.transform(X)
    model.set_params(latent_dim=5)
    assert model.sample(4)[0].shape == (4, X.shape[1])
    assert model.inverse_transform(Z).shape == X.shape
    assert model.score_samples(X).shape == (len(X),)

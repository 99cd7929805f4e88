"""Archives: the same answers after a round trip, for everything that changes the model."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits

from sk_equivae import (
    ArchiveError,
    EquiVAEClassifier,
    EquiVAETransformer,
    Graph,
    Networks,
    Objective,
    RandomAffine,
    load,
)

RULES = ("prototype", "posterior", "likelihood")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X[:120] * 15.9).astype(np.uint8).reshape(-1, 8, 8), y[:120]


def assert_same_answers(model, again, X):
    assert type(again) is type(model)
    if not isinstance(model.random_state, np.random.RandomState):
        assert repr(again) == repr(model)
    for representation in ("invariant", "both"):
        for one in (model, again):
            one.set_params(representation=representation)
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(
        again.sample(3, random_state=0)[0], model.sample(3, random_state=0)[0]
    )
    np.testing.assert_array_equal(again.score_samples(X[:5]), model.score_samples(X[:5]))
    for name in ("classes_", "class_prior_", "prototypes_", "v_mean_", "v_covariance_"):
        value, expected = getattr(again, name), getattr(model, name)
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
    assert again.history_ == model.history_
    if isinstance(model, EquiVAEClassifier):
        for rule in RULES:
            for one in (model, again):
                one.set_params(predict_with=rule)
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


SETTINGS = {
    "plain": {},
    "float64": {"dtype": "float64"},
    "gaussian": {"likelihood": "gaussian"},
    "paper": {"objective": "paper", "networks": "paper", "augment": None},
    "pair": {"latent_dim": (2, 5)},
    "wide": {"networks": Networks(hidden=(16, 8), filters=(4, 6, 8), kernel_size=3)},
    "plain layers": {"networks__batch_norm": False, "networks__min_scale": 0.2},
    "nested": {"objective": Objective(graph=Graph(n_neighbors=3)), "augment": RandomAffine(5)},
    "stopped": {"early_stopping": True, "validation_fraction": 0.3},
    "generator": {"random_state": np.random.RandomState(3)},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", [EquiVAEClassifier, EquiVAETransformer])
def test_round_trip_of_images(digits, tmp_path, kind, setting):
    X, y = digits
    model = kind(latent_dim=3, max_epochs=1, random_state=0).set_params(**SETTINGS[setting])
    model.fit(X, y).save(tmp_path / "model.equivae")
    assert_same_answers(model, load(tmp_path / "model.equivae"), X)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_round_trip_of_tables(make, blobs, tmp_path, likelihood):
    X, y = blobs
    X = (X - X.min()) / np.ptp(X)
    model = make(likelihood=likelihood).fit(X, y)
    model.save(tmp_path / "model.equivae")
    assert_same_answers(model, EquiVAEClassifier.load(tmp_path / "model.equivae"), X)


@pytest.mark.parametrize(
    "labels",
    [["a", "b", "c"], np.array(["a", "b", "c"], object), [1.0, 2.0, 5.0], [-3, 7, 2**40]],
    ids=str,
)
def test_labels_come_back_as_they_were(make, blobs, tmp_path, labels):
    X, y = blobs
    model = make(max_epochs=1).fit(X, np.asarray(labels)[y])
    model.save(tmp_path / "model.equivae")
    assert_same_answers(model, load(tmp_path / "model.equivae"), X)


def test_feature_names_and_added_classes_come_back(make, blobs, tmp_path):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = make(max_epochs=1).fit(frame[y < 2], y[y < 2])
    model.add_classes(frame[y == 2], 2).save(tmp_path / "model.equivae")
    again = load(tmp_path / "model.equivae")
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="add_classes"):
        again.partial_fit(frame, y)


def test_training_goes_on_after_loading(make, blobs, tmp_path):
    X, y = blobs
    model = make(max_epochs=5).fit(X, y)
    model.save(tmp_path / "model.equivae")
    again = load(tmp_path / "model.equivae").partial_fit(X, y)
    assert again.n_iter_ == 6
    with pytest.raises(ValueError, match="latent_dim"):
        load(tmp_path / "model.equivae").set_params(latent_dim=7, warm_start=True).fit(X, y)


def test_a_generator_that_was_stored_is_no_other(make, blobs, tmp_path):
    make(random_state=np.random.RandomState(3)).fit(*blobs).save(tmp_path / "model.equivae")
    assert load(tmp_path / "model.equivae").partial_fit(*blobs).n_iter_ == 3


class Body(torch.nn.Linear):
    def __init__(self, shape):
        super().__init__(*shape, 5)


def test_networks_of_the_user_are_asked_for(make, blobs, tmp_path):
    X, y = blobs
    path = tmp_path / "model.equivae"
    model = make(max_epochs=1, networks=Networks(posterior_body=Body), augment=lambda x: x).fit(
        X, y
    )
    model.save(path)
    with pytest.raises(ArchiveError, match=r"networks of your own.*posterior_body.*Body"):
        load(path)
    objects = {"networks.posterior_body": Body}
    with pytest.warns(UserWarning, match="only names augment"):
        again = load(path, objects=objects)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_archive_is_small_and_does_not_grow_with_the_data(tmp_path):
    sizes = []
    for n in (3100, 4000):  # enough rows of a class for all layers of the maps of v
        X = np.random.RandomState(0).uniform(size=(n, 28, 28)).astype(np.float32)
        # one dimension of v, since the maps grow with the dimensions that are used
        model = EquiVAEClassifier((16, 1), max_epochs=1, batch_size=256, random_state=0)
        model.fit(X, np.arange(n) < 50).save(tmp_path / "model.equivae")
        sizes.append((tmp_path / "model.equivae").stat().st_size)
    assert sizes[0] < 5e6
    assert abs(sizes[1] - sizes[0]) < 2000


def test_the_archive_of_another_estimator_is_refused(make, blobs, tmp_path):
    make(max_epochs=1).fit(*blobs).save(tmp_path / "model.equivae")
    with pytest.raises(ArchiveError, match=r"holds a 'EquiVAEClassifier'; expected .*Transformer"):
        EquiVAETransformer.load(tmp_path / "model.equivae")


def test_a_model_that_is_not_fitted_cannot_be_saved(make, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        make().save(tmp_path / "model.equivae")
    assert list(tmp_path.iterdir()) == []


def test_other_versions_are_named(make, blobs, tmp_path, monkeypatch):
    from sk_equivae.estimators import storage

    model = make(max_epochs=1).fit(*blobs)
    monkeypatch.setitem(storage.VERSIONS, "torch", "0.1")
    model.save(tmp_path / "model.equivae")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"made with \{'torch': '0.1'\}"):
        load(tmp_path / "model.equivae")


def test_a_crash_leaves_the_old_file(make, blobs, tmp_path, monkeypatch):
    path = tmp_path / "model.equivae"
    model = make(max_epochs=1).fit(*blobs)
    model.save(path)
    before = path.read_bytes()

    def crash(*_):
        raise OSError("no space left")

    monkeypatch.setattr("sk_equivae.files.atomic.os.fsync", crash)
    with pytest.raises(OSError, match="no space"):
        model.fit(*blobs).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_pickle_is_as_small(make, blobs, tmp_path):
    model = make(max_epochs=1).fit(*blobs)
    model.save(tmp_path / "model.equivae")
    assert len(pickle.dumps(model)) < 1.2 * (tmp_path / "model.equivae").stat().st_size + 20_000


def test_global_generators_stay_as_they_are(make, blobs, tmp_path):
    make(max_epochs=1).fit(*blobs).save(tmp_path / "model.equivae")
    before = torch.get_rng_state()
    with warnings.catch_warnings():
        load(tmp_path / "model.equivae")
    assert torch.equal(before, torch.get_rng_state())

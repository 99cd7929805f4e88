"""Classes that come after training."""

import pickle

import numpy as np
import pytest
import torch

from sk_equivae import EquiVAEClassifier
from tests._four_classes import four_classes, normalized


@pytest.fixture(scope="module")
def blobs():
    return four_classes()


@pytest.fixture(scope="module")
def three(blobs):
    """Trained on classes 0, 1 and 3; class 2 is to come."""
    X, y = blobs
    model = EquiVAEClassifier(latent_dim=(3, 2), max_epochs=40, dtype="float64", random_state=0)
    return model.fit(X[y != 2], y[y != 2])


@pytest.fixture
def added(three, blobs):
    """Class 2, which comes between those of training, added from five rows."""
    X, y = blobs
    model = pickle.loads(pickle.dumps(three))
    assert model.add_classes(X[y == 2][:5], y[y == 2][:5]) is model
    return model


def test_a_new_class_takes_its_place(added, three, blobs):
    X, y = blobs
    assert added.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(added.prototypes_[[0, 1, 3]], three.prototypes_)
    assert added.class_count_[2] == 5
    np.testing.assert_array_equal(added.class_count_[[0, 1, 3]], three.class_count_)
    assert added.class_prior_[2] == pytest.approx(1 / 4)
    np.testing.assert_allclose(added.class_prior_[[0, 1, 3]], three.class_prior_ * 3 / 4)
    module = added.model_.module
    with torch.inference_mode():
        h = module.invariant.embed(normalized(added, X[y == 2][:5]))
        r = module.invariant.head(h.mean(dim=0, keepdim=True)).numpy()[0]
    np.testing.assert_allclose(added.prototypes_[2], r)


@pytest.mark.parametrize("rule", ["prototype", "posterior", "likelihood"])
def test_a_new_class_is_predicted(added, blobs, rule):
    X, y = blobs
    added.set_params(predict_with=rule)
    assert added.predict_proba(X).shape == (len(X), 4)
    np.testing.assert_allclose(added.predict_proba(X).sum(axis=1), 1)
    recall = [(added.predict(X[y == label]) == label).mean() for label in range(4)]
    assert min(recall) > 0.8


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_rules_divide_what_new_classes_leave(added, three, blobs, rule):
    """Each at its temperature; `predict_proba` also depends on how far a row is from training."""
    X, _ = blobs
    assert len({three.temperature_[name] for name in ("prototype", rule)}) == 2
    three = pickle.loads(pickle.dumps(three)).set_params(predict_with=rule)
    by_distance = np.exp(added.decision_function(X))
    q = np.exp(three.decision_function(X))
    p = np.exp(added.set_params(predict_with=rule).decision_function(X))
    np.testing.assert_allclose(p[:, 2], by_distance[:, 2])
    np.testing.assert_allclose(p[:, [0, 1, 3]], q * (1 - by_distance[:, [2]]), atol=1e-12)


def test_a_new_class_is_generated_and_transformed(added, blobs):
    X, y = blobs
    _, labels = added.sample(40, y=2, random_state=0)
    assert set(labels) == {2}
    assert 2 in added.sample(100, random_state=0)[1]
    new = X[y == 2]
    added.set_params(representation="latent")
    module = added.model_.module
    with torch.inference_mode():
        r = torch.from_numpy(added.prototypes_[[2]]).expand(len(new), -1)
        v = module.encode(normalized(added, new), r).mean.numpy()
    is_new = added.predict(new) == 2
    latent = added.transform(new)[is_new]
    np.testing.assert_allclose(latent[:, -v.shape[1] :], v[is_new])
    relative = added.set_params(representation="equivariant").transform(new)[is_new]
    used = added.model_.relative.used  # only standardised by the prior, as in the prior's class
    np.testing.assert_allclose(relative[:, used], v[is_new][:, used], rtol=1e-5)
    assert added.reconstruct(new, y=2).shape == new.shape


def test_classes_come_one_after_another(blobs):
    X, y = blobs
    names = np.array(["b", "d", "a", "longer"])[y]
    model = EquiVAEClassifier(latent_dim=2, max_epochs=2, predict_with="posterior", random_state=0)
    model.fit(X[y < 2], names[y < 2])
    logit = model.decision_function(X[:9])
    for code in (2, 3):
        model.add_classes(X[y == code][:3], names[y == code][:3])
    assert model.classes_.tolist() == ["a", "b", "d", "longer"]
    log_p = model.decision_function(X[:9])
    np.testing.assert_allclose(log_p[:, 2] - log_p[:, 1], logit, rtol=1e-5)


@pytest.mark.parametrize(
    "labels, message",
    [
        ([1, 2], r"not in classes_; got \[1\], which are known already. Leave"),
        ([2, -1], r"label per row; got 1 rows marked unlabelled \(-1\). Leave them out"),
        (["a", "b"], r"type of classes_ \(numbers\); got strings or objects"),
        ([2], "got 2 rows of X and 1 of y"),
    ],
)
def test_add_classes_says_what_is_wrong(three, blobs, labels, message):
    with pytest.raises(ValueError, match=message):
        three.add_classes(blobs[0][:2], labels)
    assert three.classes_.tolist() == [0, 1, 3]


def test_training_does_not_go_on_with_added_classes(added, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"\[2\] came by `add_classes`.*warm_start=False"):
        added.partial_fit(X, y)
    added.set_params(warm_start=True)
    with pytest.raises(ValueError, match=r"\[2\] came by `add_classes`"):
        added.fit(X, y)
    added.set_params(warm_start=False, max_epochs=1).fit(X, y)
    added.partial_fit(X, y)  # trained on all four now
    assert added.predict_proba(X[:2]).shape == (2, 4)


def test_float_labels_join_ints(three, blobs):
    X, y = blobs
    model = pickle.loads(pickle.dumps(three)).add_classes(X[y == 2][:3], [2.0, 2.0, 2.0])
    assert model.classes_.dtype.kind == "i"

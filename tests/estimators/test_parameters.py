"""Parameters are checked where they are used, and none is ignored."""

import numpy as np
import pytest
from torch import nn

from sk_equivae import Graph, Networks, Objective


@pytest.mark.parametrize("call", ["predict", "predict_proba", "transform", "reconstruct"])
@pytest.mark.parametrize(
    "wrong", [{"predict_with": "prototypes"}, {"representation": "banana"}, {"m_max": 0}]
)
def test_a_wrong_value_after_fit_raises_where_it_is_used(make, blobs, call, wrong):
    model = make().fit(*blobs).set_params(**wrong)
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        getattr(model, call)(blobs[0])


def test_a_wrong_value_after_fit_raises_without_rows_too(make, blobs):
    model = make().fit(*blobs).set_params(representation="banana")
    for call in (model.get_feature_names_out, model.sample):
        with pytest.raises(ValueError, match="banana"):
            call()


SHAPING = [
    {"latent_dim": 3},
    {"likelihood": "bernoulli"},
    {"dtype": "float64"},
    {"image_shape": (2, 2)},
    {"networks": Networks(dropout=0.3)},
    {"networks__hidden": (16, 8)},
    {"networks__invariant_body": nn.Linear(4, 3)},
    {"objective__teacher_decay": 0.5},
]


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("changed", SHAPING, ids=lambda changed: next(iter(changed)))
def test_networks_cannot_change_when_training_goes_on(make, blobs, assert_same, how, changed):
    model = make(warm_start=True).fit(*blobs)
    before = assert_same.state_of(model)
    with pytest.raises(ValueError, match=r"was .*; got .*Set it back"):
        getattr(model.set_params(**changed), how)(*blobs)
    assert_same(before, model)


@pytest.mark.parametrize(
    "changed",
    [
        {"max_epochs": 7},
        {"validation_fraction": 0.3},
        {"random_state": 7},
        {"objective__kl_warmup": 0.1},
        {"objective__lr_decay": None},
        {"objective__graph": None},
        {"objective__graph": Graph(n_neighbors=3)},
        {"objective__max_batch_size": 32},
    ],
    ids=str,
)
def test_what_one_epoch_does_not_go_by_cannot_change_in_partial_fit(make, blobs, changed):
    model = make(warm_start=True).fit(*blobs).set_params(**changed)
    with pytest.raises(ValueError, match="partial_fit goes on"):
        model.partial_fit(*blobs)
    model.fit(*blobs)  # a warm start goes by it


@pytest.mark.parametrize(
    "changed",
    [
        {"lr": 1e-4},
        {"m_max": 1},
        {"batch_size": 8},
        {"augment": None},
        {"objective__label_weight": 50.0},
        {"objective__prototype_weight": 0.0},
        {"objective__complement_pool": "labeled"},
    ],
    ids=str,
)
def test_partial_fit_goes_by_the_parameters_of_now(make, blobs, few, changed):
    X, _ = blobs
    same, other = make().fit(X, few), make().fit(X, few).set_params(**changed)
    first, second = same.partial_fit(X, few), other.partial_fit(X, few)
    assert not np.array_equal(first.prototypes_, second.prototypes_)


def test_partial_fit_cannot_stop_early(make, blobs):
    with pytest.raises(ValueError, match="no use for early_stopping"):
        make(early_stopping=True).partial_fit(*blobs, classes=[0, 1, 2])


def test_equal_settings_in_another_object_are_no_change(make, blobs):
    model = make(objective=Objective(graph=Graph())).fit(*blobs)
    model.set_params(objective=Objective(graph=Graph())).partial_fit(*blobs)


def test_early_stopping_may_go_by_accuracy(make, blobs):
    model = make(max_epochs=30, early_stopping="accuracy", n_iter_no_change=2).fit(*blobs)
    scores = [row["valid_accuracy"] for row in model.history_]
    assert len(scores) < 30
    assert max(scores[-2:]) <= max(scores)

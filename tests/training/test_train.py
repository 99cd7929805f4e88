"""From rows and settings to a model: rules, splits, and randomness that is given back."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, make_blobs
from torch import nn

from sk_equivae import EquiVAEClassifier, Networks, Objective
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.model.randomness import private_global_generator
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.held_out import set_aside, split_validation
from sk_equivae.training.settings.plan import (
    auto_batch_size,
    auto_epochs,
    auto_prototype_weight,
    n_latents,
)
from sk_equivae.training.summary import class_means


def training_rows(X, codes):
    return TrainingRows(X, make_spec(X, None, None, "gaussian"), codes)


def normalized(model, X):
    """Rows as the networks see them."""
    like = model.model_.module.like
    return model.model_.rows.normalize(torch.from_numpy(X.reshape(len(X), -1)), like.dtype)


@pytest.mark.parametrize(
    "n_rows, tabular, images, unlabeled",
    [
        (1, 500, 500, 500),
        (10, 500, 500, 500),
        (40, 125, 500, 500),
        (41, 122, 488, 488),
        (150, 34, 134, 134),
        (333, 16, 61, 61),
        (334, 15, 60, 60),
        (1_333, 15, 16, 16),
        (1_334, 15, 15, 15),
        (10_000, 15, 15, 15),
        (16_000, 15, 15, 15),
        (16_001, 15, 15, 15),
        (33_334, 14, 14, 14),
        (55_000, 9, 9, 9),
        (10**6, 2, 2, 2),
    ],
)
def test_auto_epochs(n_rows, tabular, images, unlabeled):
    assert auto_epochs(n_rows, is_image=False, any_unlabeled=False) == tabular
    assert auto_epochs(n_rows, is_image=True, any_unlabeled=False) == images
    for is_image in (False, True):
        assert auto_epochs(n_rows, is_image, any_unlabeled=True) == unlabeled


@pytest.mark.parametrize(
    "n_rows, batch_size, largest",
    [(10**6, 64, 256), (25_600, 64, 256), (25_599, 64, 128), (100, 64, 64), (10**6, 100, 200),
     (10**6, 500, 500)],
)  # fmt: skip
def test_auto_batch_size(n_rows, batch_size, largest):
    """256, or as much of it by doubling as leaves 100 batches."""
    assert auto_batch_size(n_rows, batch_size) == largest


def test_auto_prototype_weight():
    assert auto_prototype_weight((4,)) == 1
    assert auto_prototype_weight((3, 8, 8)) == 16


def test_latent_dim_is_a_number_or_a_pair():
    assert n_latents(7) == (7, 7)
    assert n_latents((3, 5)) == (3, 5)
    assert n_latents([np.int64(3), 5]) == (3, 5)


@pytest.mark.parametrize("wrong", [(3,), (3, 5, 7), (3, 0), (-1, 2), (2.5, 3), ("a", "b")])
def test_latent_dim_that_is_neither(wrong):
    with pytest.raises(ValueError, match="positive int, or a pair"):
        n_latents(wrong)


# -------------------------------------------------------------------- validation


def make_data(counts, n_unlabeled):
    codes = np.concatenate([np.full(n, code) for code, n in enumerate(counts)])
    codes = np.random.RandomState(0).permutation(np.r_[codes, np.full(n_unlabeled, -1)])
    return training_rows(np.zeros((len(codes), 2)), codes)


@pytest.mark.parametrize("counts", [(20, 20, 20), (50, 5, 5), (2, 2), (2, 40), (1000, 2)])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.9])
def test_validation_is_labelled_and_stratified(counts, fraction):
    data = make_data(counts, 30)
    train, valid = split_validation(data, fraction, seed=0)
    assert not set(train.rows) & set(valid.rows)
    assert sorted([*train.rows, *valid.rows]) == data.rows.tolist()
    in_train = np.bincount(data.codes[train.rows] + 1, minlength=len(counts) + 1)
    in_valid = np.bincount(data.codes[valid.rows] + 1, minlength=len(counts) + 1)
    assert in_valid[0] == 0
    assert in_train[0] == 30
    assert (in_train[1:] > 0).all()
    assert (in_valid[1:] > 0).all()
    assert (np.abs(in_valid[1:] - fraction * np.array(counts)) <= 1).all()


def test_validation_is_by_the_seed_and_within_the_rows():
    data = make_data((20, 20), 10).subset(np.arange(40))
    one, same, other = (split_validation(data, 0.3, seed)[1].rows for seed in (0, 0, 1))
    assert one.tolist() == same.tolist() != other.tolist()
    assert one.max() < 40


@pytest.mark.parametrize("counts", [(20, 1), (1, 1), (2, 2, 1)])
def test_validation_needs_two_rows_a_class(counts):
    with pytest.raises(ValueError, match=r"at least 2 labelled rows per class: label more"):
        split_validation(make_data(counts, 30), 0.2, seed=0)


# -------------------------------------------------------------------- randomness


def test_private_generator_is_seeded_inside_and_restored_outside():
    before = torch.get_rng_state()
    with private_global_generator(3, "cpu"):
        one = torch.rand(3)
    torch.testing.assert_close(torch.get_rng_state(), before)
    with private_global_generator(3, "cpu"):
        same = torch.rand(3)
    with private_global_generator(4, "cpu"):
        other = torch.rand(3)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_private_generator_is_restored_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), private_global_generator(3, "cpu"):
        torch.rand(3) @ torch.rand(4)
    assert torch.equal(torch.get_rng_state(), before)


def test_other_devices_keep_their_generators(monkeypatch):
    """torch.manual_seed would seed all of them, and nobody puts them back."""
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("was seeded"))
    with private_global_generator(3, "cpu"):
        torch.rand(3)


def test_networks_with_dropout_of_their_own_are_seeded_too(make, blobs, assert_same):
    def body(shape):
        return nn.Sequential(nn.Linear(*shape, 8), nn.Dropout(0.5))

    before = torch.get_rng_state()
    one = make(networks=Networks(invariant_body=body)).fit(*blobs)
    torch.rand(10)
    assert_same(one, make(networks=Networks(invariant_body=body)).fit(*blobs))
    torch.set_rng_state(before)


# -------------------------------------------------------------------- after training


def test_batch_norm_does_not_depend_on_the_order_or_the_last_batch(monkeypatch):
    """Statistics of images that come class by class, one more than fills the batches."""
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y[:801], kind="stable")
    X, y = X[:801].reshape(-1, 8, 8)[order] / 16, y[:801][order]
    monkeypatch.setattr("sk_equivae.training.summary.BATCH_SIZE", 100)
    model = EquiVAEClassifier(max_epochs=2, random_state=0).fit(X, y)
    module = model.net_.module_.teacher
    norms = [m for m in module.invariant.modules() if isinstance(m, nn.BatchNorm2d)]
    measured = [norm.running_var.clone() for norm in norms]
    with torch.no_grad():
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        module.train().f_inv(normalized(model, X))  # all at once
    for norm, variance in zip(norms, measured, strict=True):
        torch.testing.assert_close(variance, norm.running_var, rtol=0.02, atol=0)


def test_nothing_of_the_schedule_is_kept(make, blobs):
    net = make(max_epochs=2, early_stopping=True).fit(*blobs).net_
    assert not {"lr_schedule", "kl_warmup", "early_stopping"} & {name for name, _ in net.callbacks_}
    assert net.callbacks is None


def test_class_means_count_confident_rows_if_they_may(make, blobs, few):
    X = blobs[0]
    model = make(max_epochs=20).fit(X, few)
    data, module = training_rows(X, few), model.model_.module
    with torch.no_grad():
        x = normalized(model, X.copy())
        h, q_y = module.invariant.embed(x), module.classify(x).softmax(dim=1)
    confidence = q_y[few < 0].amax(dim=1).median().item()
    labeled, sure = (
        class_means(module, data, pool, confidence) for pool in ("labeled", "confident")
    )
    probability, code = (t.numpy() for t in q_y.max(dim=1))
    codes = np.where(few >= 0, few, np.where(probability >= confidence, code, -1))
    for means, target in ((labeled, few), (sure, codes)):
        assert means.weights.tolist() == np.bincount(target[target >= 0]).tolist()
        for label in range(3):
            torch.testing.assert_close(
                means.means[label].float(), h[target == label].mean(dim=0), rtol=1e-4, atol=1e-4
            )
    assert sure.weights.sum() > labeled.weights.sum()


def test_batch_norm_has_the_statistics_of_the_average(images):
    """Those of its own activations on the rows as they come."""
    X, y = images
    model = EquiVAEClassifier(latent_dim=2, max_epochs=2, random_state=0).fit(X, y)
    module = model.net_.module_.predictor.eval()
    convolution, norm, *_ = module.invariant.body[0]
    assert isinstance(norm, nn.BatchNorm2d)
    with torch.no_grad():
        h = convolution(normalized(model, X.copy()))
    torch.testing.assert_close(norm.running_mean, h.mean(dim=(0, 2, 3)), rtol=1e-3, atol=1e-4)


def test_the_net_keeps_no_rows(make, few, blobs):
    model = make(early_stopping=True, validation_fraction=0.4).fit(blobs[0], few)
    assert model.net_.train_split is None
    assert not any(isinstance(value, TrainingRows) for value in vars(model.net_).values())


def test_early_stopping_stops_and_keeps_the_best():
    X, y = make_blobs(80, 4, centers=3, cluster_std=5.0, random_state=0)
    model = EquiVAEClassifier(
        latent_dim=2, max_epochs=60, batch_size=16, lr=0.03, objective=Objective(lr_decay=None),
        early_stopping=True, validation_fraction=0.3, n_iter_no_change=4, random_state=0,
    ).fit(X, y)  # fmt: skip
    losses = [row["valid_loss"] for row in model.history_]
    assert len(losses) < 60
    assert len(losses) - 1 - np.argmin(losses) >= 3


def test_without_unlabelled_rows_the_bound_counts_whole(make, blobs):
    """A share of the labelled rows other than 1 would say that there are others."""
    whole, half = (
        make(objective=Objective(labeled_share=share)).fit(*blobs) for share in ("auto", 0.5)
    )
    assert half.net_.criterion_.plan.labeled_share == 1
    assert half.history_[-1]["train_elbo"] == whole.history_[-1]["train_elbo"]


def test_some_unlabelled_rows_are_set_aside():
    codes = np.where(np.arange(600) < 100, np.arange(600) % 2, -1)
    data = training_rows(np.zeros((600, 3)), codes)
    rows, strangers = set_aside(data, seed=0)
    assert len(strangers) == 75  # 15% of 500
    assert (codes[strangers] == -1).all()
    np.testing.assert_array_equal(np.union1d(rows.rows, strangers), np.arange(600))
    assert len(rows) == 525
    few = data.subset(np.arange(400))
    assert set_aside(few, seed=0) == (few, None)  # 45 rows would not tell


def test_rejected_rows_are_counted_among_those_set_aside():
    """Their scores are the quantiles that `reject` goes by."""
    X, y = make_blobs(600, 4, centers=2, random_state=0)
    codes = np.where(np.arange(600) < 100, y, -1)
    model = EquiVAEClassifier(reject=0.1, max_epochs=1, random_state=0).fit(X, codes)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)  # as the estimator draws it
    _, strangers = set_aside(training_rows(X, codes), seed)
    lost = model.novelty_function(X[strangers]) < 0
    assert lost.sum() in (7, 8)  # a tenth of 75

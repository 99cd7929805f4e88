"""Training, prediction and representations of the two estimators."""

import io
import pickle
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, LRScheduler

from sk_equivae import EquiVAEClassifier, Networks, Objective
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.fitted.loop import map_batches
from sk_equivae.model.rules import mixed_with_prior
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.held_out import split_validation
from sk_equivae.training.net import EquiVAENet

LEARNS = {"max_epochs": 20, "lr": 5e-3}


def outlyingness(model, X):
    """How far rows are from those of training, which `decision_function` does not depend on."""
    return model.model_.map(model.model_.region.outlying, X)


def towards_prior(model, p, outlying):
    """The probabilities of the rule as `predict_proba` returns them."""
    arrays = (p, model.class_prior_, outlying)
    return mixed_with_prior(*map(torch.from_numpy, arrays)).numpy()


# ---------------------------------------------------------------- fit


@pytest.mark.parametrize("rule", ["prototype", "posterior", "likelihood"])
@pytest.mark.parametrize("labels", ["all", "few"])
def test_learns_with_all_and_with_few_labels(make, blobs, few, rule, labels):
    X, y = blobs
    model = make(predict_with=rule, **LEARNS).fit(X, few if labels == "few" else y)
    assert model.score(X, y) > 0.95
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    decision, outlying = model.decision_function(X), outlyingness(model, X)
    near = outlying == 0
    assert near.mean() > 0.9
    log_p = model.predict_log_proba(X)
    np.testing.assert_allclose(decision[near], log_p[near], rtol=1e-12)
    np.testing.assert_allclose(p, towards_prior(model, np.exp(decision), outlying))


def test_rules_differ(make, blobs):
    X, y = blobs
    model = make().fit(X, y)
    rules = ["prototype", "posterior", "likelihood"]
    p = [model.set_params(predict_with=rule).predict_proba(X) for rule in rules]
    assert not np.allclose(p[0], p[1])
    assert not np.allclose(p[0], p[2])
    assert not np.allclose(p[1], p[2])


def test_two_classes_have_one_decision(make, blobs):
    X, y = blobs
    model = make().fit(X[y < 2], y[y < 2])
    decision, p = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == (60,)
    second, outlying = 1 / (1 + np.exp(-decision)), outlyingness(model, X)
    near = outlying == 0
    assert near[y < 2].mean() > 0.9
    np.testing.assert_allclose(p[near, 1], second[near])
    both = np.column_stack([1 - second, second])
    np.testing.assert_allclose(p, towards_prior(model, both, outlying))


def test_history_and_attributes(make, blobs, few):
    X, _ = blobs
    model = make(max_epochs=3).fit(X, few)
    assert model.n_iter_ == len(model.history_) == 3
    assert [row["epoch"] for row in model.history_] == [1, 2, 3]
    for row in model.history_:
        assert "batches" not in row
        assert np.isfinite([row["train_objective"], row["train_kl_y"], row["train_loss"]]).all()
    assert model.prototypes_.shape == (3, 2)
    np.testing.assert_allclose(model.class_prior_, 1 / 3)


def test_transduction_keeps_labels_and_fills_the_rest(make, blobs, few):
    X, _ = blobs
    names = np.array(["x", "y", "z"], dtype=object)
    wrong = np.roll(names, 1)[few]  # so that prediction and label differ if the label is not kept
    labels = np.where(few < 0, None, wrong)
    flipped = np.flatnonzero(few == 0)[:1]
    labels[flipped] = "y" if labels[flipped][0] != "y" else "z"
    model = make(**LEARNS).fit(X, labels)
    assert (model.predict(X)[flipped] != labels[flipped]).all()
    np.testing.assert_array_equal(model.transduction_[few >= 0], labels[few >= 0])
    np.testing.assert_array_equal(model.transduction_[few < 0], model.predict(X)[few < 0])


def test_rows_of_weight_zero_have_no_influence(make, blobs, few, assert_same):
    X, _ = blobs
    wild = np.vstack([X[:7], 1e6 * X[:7], X[7:]])
    labels = np.concatenate([few[:7], [0, 1, 2, -1, -1, 0, 0], few[7:]])
    weight = np.ones(67)
    weight[7:14] = 0
    weighted, without = make().fit(wild, labels, sample_weight=weight), make().fit(X, few)
    assert_same(weighted, without)
    assert weighted.class_prior_.tolist() == without.class_prior_.tolist()
    assert len(weighted.transduction_) == 67


def test_weights_count(make, blobs):
    X, y = blobs
    weight = np.where(y == 0, 3.0, 1.0)
    model = make().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.class_prior_, [0.6, 0.2, 0.2])
    assert not np.array_equal(model.prototypes_, make().fit(X, y).prototypes_)


def test_score_leaves_out_unlabelled_rows_and_weighs(make, blobs, few):
    X, y = blobs
    model = make(**LEARNS).fit(X, y)
    known = few >= 0
    assert model.score(X, few) == model.score(X[known], few[known]) == 1
    wrong = np.where(known, (y + 1) % 3, -1)
    assert model.score(X, wrong) == 0
    half = np.where(np.arange(60) % 2, y, (y + 1) % 3)
    assert model.score(X, half, sample_weight=np.arange(60) % 2) == 1


# ---------------------------------------------------------------- going on


def test_warm_start_goes_on(make, blobs):
    X, y = blobs
    model = make(warm_start=True, max_epochs=5).fit(X, y)
    first = model.history_[0]["train_objective"]
    model.fit(X, y)
    assert model.n_iter_ == 10
    assert [row["epoch"] for row in model.history_] == list(range(1, 11))
    assert model.history_[5]["train_objective"] > first
    cold = model.set_params(warm_start=False).fit(X, y)
    assert cold.n_iter_ == 5


def test_partial_fit_learns_an_epoch_a_call(make, blobs):
    X, y = blobs
    model = make(lr=5e-3)
    for _ in range(15):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.n_iter_ == 15
    assert model.score(X, y) > 0.95
    assert model.class_count_.sum() == 15 * 60


@pytest.mark.parametrize("early_stopping", [False, True])
def test_partial_fit_after_fit(make, blobs, early_stopping):
    X, y = blobs
    model = make(max_epochs=4, early_stopping=early_stopping).fit(X, y)
    before = model.prototypes_
    model.set_params(early_stopping=False).partial_fit(X, y)
    assert model.n_iter_ == 5
    assert model.history_[-1]["lr"] == 5e-3  # of `lr`, not where the decay had ended
    assert not np.array_equal(model.prototypes_, before)


def test_partial_fit_with_classes_still_to_come(make, blobs, few):
    X, y = blobs
    first = y < 2
    model = make(lr=5e-3).partial_fit(X[first], y[first], classes=[0, 1, 2, -1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_proba(X)[:, 2] == 0).all()
    model.partial_fit(X[y == 2], y[y == 2])
    assert (model.predict_proba(X[y == 2])[:, 2] > 0).all()
    model.partial_fit(X, np.full(60, -1))  # rows without labels may follow
    assert np.isfinite(model.predict_proba(X)).all()


# ---------------------------------------------------------------- early stopping


def test_validation_rows_are_labelled_and_stratified(blobs):
    X, y = blobs
    codes = np.where(np.arange(60) % 3 == 0, -1, y)
    n_labeled = (codes >= 0).sum()
    data = TrainingRows(X, make_spec(X, None, None, "gaussian"), codes)
    train, valid = split_validation(data, 0.25, seed=0)
    assert (codes[valid.rows] >= 0).all()
    assert abs(len(valid) - n_labeled / 4) <= 1
    assert sorted([*train.rows, *valid.rows]) == list(range(60))
    share = [np.bincount(codes[d.rows][codes[d.rows] >= 0]) / n for d, n in [(valid, len(valid))]]
    np.testing.assert_allclose(share[0], np.bincount(codes[codes >= 0]) / n_labeled, atol=0.1)


def test_early_stopping_stops_and_keeps_the_best(make, blobs, few, monkeypatch):
    monkeypatch.setattr(EquiVAENet, "forget_training", lambda net: None)  # to compare with it
    X, _ = blobs
    params = {"early_stopping": True, "max_epochs": 60, "n_iter_no_change": 1, "lr": 0.05}
    model = make(**params, validation_fraction=0.3).fit(X, few)
    losses = [row["valid_loss"] for row in model.history_]
    assert model.n_iter_ < 60
    assert np.argmin(losses) == len(losses) - 2
    best = dict(model.net_.callbacks_)["early_stopping"].best_model_weights_
    for name, value in model.net_.module_.state_dict().items():
        assert torch.equal(value, best[name])
    assert "valid_objective" in model.history_[0]
    assert "valid_objective" not in make().fit(X, few).history_[0]


# ---------------------------------------------------------------- callbacks and output


class Recorder(Callback):
    def __init__(self, stop_after=None):
        self.stop_after = stop_after

    def initialize(self):
        self.seen_ = []
        return self

    def on_epoch_end(self, net, **kwargs):
        self.seen_.append(net.history[-1]["train_objective"])
        if len(self.seen_) == self.stop_after:
            raise KeyboardInterrupt  # how skorch's own callbacks stop


def test_callbacks_of_users_work_and_stay_as_they_were(make, blobs, tmp_path):
    stopping = EarlyStopping(monitor="train_loss", patience=100)
    checkpoint = Checkpoint(monitor=None, dirname=str(tmp_path))
    given = [Recorder(), ("named", stopping), checkpoint, LRScheduler("StepLR", step_size=1)]
    before = [dict(vars(c[1] if isinstance(c, tuple) else c)) for c in given]
    model = make(callbacks=given, objective=Objective(lr_decay=None)).fit(*blobs)
    assert [dict(vars(c[1] if isinstance(c, tuple) else c)) for c in given] == before
    assert model.callbacks is given
    recorder = dict(model.net_.callbacks_)["Recorder"]
    assert recorder.seen_ == [row["train_objective"] for row in model.history_]
    assert (tmp_path / "params.pt").exists()
    assert model.history_[1]["lr"] < model.history_[0]["lr"]


def test_callback_may_stop_training_without_a_warning(make, blobs):
    assert make(max_epochs=9, callbacks=[Recorder(stop_after=3)]).fit(*blobs).n_iter_ == 3


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_what_is_printed(make, blobs, verbose):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        make(verbose=verbose).fit(*blobs)
    assert ("left" in err.getvalue()) == (verbose > 0)
    assert ("accuracy" in out.getvalue()) == (verbose > 1)
    assert "\x1b" not in out.getvalue() + err.getvalue()  # no colours in a file
    if verbose == 0:
        assert out.getvalue() + err.getvalue() == ""


class Impatient(torch.nn.Module):
    """A body during whose n-th call in training the user presses Ctrl-C."""

    def __init__(self, shape, n_calls):
        super().__init__()
        self.dense, self.n_calls = torch.nn.Linear(*shape, 8), n_calls

    def forward(self, x):
        self.n_calls -= self.training
        if self.n_calls == 0:
            raise KeyboardInterrupt
        return self.dense(x)


def impatient(make, n_calls):
    networks = Networks(invariant_body=lambda shape: Impatient(shape, n_calls))
    return make(max_epochs=50, objective=Objective(max_batch_size=None), networks=networks)


def test_interrupt_keeps_the_model(make, blobs):
    X, y = blobs
    model = impatient(make, n_calls=10)  # there are four batches in an epoch
    with pytest.raises(KeyboardInterrupt, match=r"interrupted after 2 epochs. The estimator keeps"):
        model.fit(X, y)
    assert model.n_iter_ == len(model.history_) == 2
    assert np.isfinite(model.predict_proba(X)).all()


def test_interrupt_in_the_first_epoch_changes_nothing(make, blobs):
    model = impatient(make, n_calls=2)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt, match=r"in the first epoch. Nothing changed"):
        model.fit(*blobs)
    assert vars(model) == before


# ---------------------------------------------------------------- inference


@pytest.mark.parametrize("rule", ["prototype", "posterior", "likelihood"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore:X has values from .* another scale:UserWarning")
def test_probabilities_are_finite_however_far(make, blobs, rule, dtype):
    X, y = blobs
    model = make(predict_with=rule, dtype=dtype).fit(X, y)
    for far in (1e30, -1e30, 1e300):
        p = model.predict_proba(np.full((2, 4), far))
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert np.isfinite(model.decision_function(np.full((2, 4), far))).all()


def test_representations(estimator, blobs):
    X, y = blobs
    estimator.set_params(latent_dim=(2, 3)).fit(X, y)
    parts = {}
    for name, size in [("invariant", 2), ("equivariant", 3), ("both", 5), ("latent", 5)]:
        parts[name] = estimator.set_params(representation=name).transform(X)
        assert parts[name].shape == (60, size)
        np.testing.assert_array_equal(parts[name], estimator.transform(X))  # deterministic
    np.testing.assert_array_equal(
        parts["both"], np.hstack([parts["invariant"], parts["equivariant"]])
    )


@pytest.mark.parametrize("size", [1, 7])
def test_batches_of_inference_do_not_matter(make, blobs, few, monkeypatch, size):
    X, _ = blobs
    model = make(representation="both", dtype="float64").fit(X, few)
    whole = model.transform(X), model.predict_proba(X)
    seen = []

    def in_parts(function, *columns, like, batch_size):
        def noted(x, *others):
            seen.append(len(x))
            return function(x, *others)

        return map_batches(noted, *columns, like=like, batch_size=size)

    monkeypatch.setattr("sk_equivae.fitted.model.map_batches", in_parts)
    np.testing.assert_allclose(model.transform(X), whole[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), whole[1], rtol=1e-10, atol=1e-12)
    assert max(seen) == size


def test_no_training_data_is_kept(make, blobs):
    X, y = blobs
    sizes = []
    for n in (160, 200):  # enough rows for all layers of the maps of v
        model = make(max_epochs=1, early_stopping=True).fit(np.tile(X, (n, 1)), np.tile(y, n))
        # a label and its probabilities per row, as documented
        model.transduction_ = model.transduction_proba_ = None
        sizes.append(len(pickle.dumps(model)))
    assert abs(sizes[1] - sizes[0]) < 1000 < 20 * X.nbytes


def test_defaults_are_small():
    model = EquiVAEClassifier(max_epochs=1, random_state=0)
    X = np.random.RandomState(0).uniform(size=(8, 28, 28))
    model.fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    assert sum(p.numel() for p in model.model_.module.parameters()) < 1_000_000


def test_warm_start_with_another_latent_dim_is_refused(blobs):
    X, y = blobs
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"latent_dim was \(2, 2\); got \(3, 3\)"):
        model.set_params(latent_dim=3).fit(X, y)

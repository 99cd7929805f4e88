"""Averages, schedule, history, the one source of noise, and the net as a skorch classifier."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import BatchScoring, Callback, EpochScoring

from sk_equivae import Objective
from sk_equivae.training.averaging import Averaged
from sk_equivae.training.callbacks import check_callbacks
from sk_equivae.training.net import Adam
from tests._models import batch, seeded, tiny_module, tiny_objective


def test_moving_average_by_its_formula():
    averaged = Averaged(tiny_module(), decay=0.9)
    averaged.start()
    weight = averaged.module.decoder.dense.bias
    expected = weight.detach().clone()
    for n in range(1, 121):
        with torch.no_grad():
            weight.copy_(torch.full_like(weight, n % 3))
        averaged.update()
        decay = min(0.9, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * weight.detach()
        torch.testing.assert_close(averaged.teacher.decoder.dense.bias, expected)
    assert (1 + n) / (10 + n) > 0.9  # both parts of the rule have been used


def test_averaged_module_predicts_and_does_not_learn():
    averaged = Averaged(tiny_module(), decay=0.99)
    teacher, module = averaged.teacher, averaged.module
    assert averaged.predictor is teacher is not module
    assert not any(p.requires_grad for p in teacher.parameters())
    assert all(p.requires_grad for p in module.parameters())
    start = module.decoder.dense.weight.detach().clone()
    averaged.start()
    with torch.no_grad():
        module.decoder.dense.weight += 1
    averaged.update()
    moved = teacher.decoder.dense.weight - start
    assert ((moved > 0) & (moved < 1)).all()


def test_without_decay_the_module_predicts():
    averaged = Averaged(tiny_module(), decay=0)
    assert averaged.teacher is None
    assert averaged.predictor is averaged.module
    averaged.update()


def test_learning_rate_decays_over_the_whole_training(make, blobs):
    decayed = make(max_epochs=4, lr=0.01, objective=Objective(max_batch_size=16))
    rates = [row["lr"] for row in decayed.fit(*blobs).history_]
    expected = [0.005 * (1 + math.cos(math.pi * epoch / 4)) for epoch in (1, 2, 3, 4)]
    np.testing.assert_allclose(rates, expected, atol=1e-12)
    constant = make(objective=Objective(lr_decay=None), lr=0.01).fit(*blobs).history_
    assert [row["lr"] for row in constant] == [0.01, 0.01]


def test_learning_rate_rises_first(make, blobs):
    objective = Objective(max_batch_size=16, lr_warmup=0.5)  # 4 batches per epoch
    rising = make(max_epochs=4, lr=0.01, objective=objective).fit(*blobs)
    rates = [row["lr"] for row in rising.history_]
    np.testing.assert_allclose(rates, [0.00625, 0.01, 0.005, 0.0], atol=1e-12)
    rising.set_params(objective__lr_decay=None).fit(*blobs)
    rates = [row["lr"] for row in rising.history_]
    np.testing.assert_allclose(rates, [0.00625, 0.01, 0.01, 0.01], atol=1e-12)


class Weights(Callback):
    """Notes the weight of KL of v in each batch of training, and of validation."""

    def initialize(self):
        self.seen = {True: [], False: []}
        return self

    def on_batch_end(self, net, training, **kwargs):
        self.seen[training].append(net.criterion_.kl_weight)


def test_weight_of_kl_rises_over_a_part_of_training(make, blobs):
    objective = Objective(kl_warmup=0.5, max_batch_size=None)
    model = make(max_epochs=5, objective=objective, callbacks=[("w", Weights())])
    net = model.fit(*blobs).net_
    expected = np.minimum(1, np.arange(20) / 10)  # 4 batches in each of 5 epochs
    np.testing.assert_allclose(dict(net.callbacks_)["w"].seen[True], expected)
    assert model.set_params(objective__kl_warmup=1.0).fit(*blobs).net_.criterion_.kl_weight == 1.0
    net = model.set_params(objective__kl_warmup=0.0).fit(*blobs).net_
    assert set(dict(net.callbacks_)["w"].seen[True]) == {1.0}


@pytest.mark.parametrize("training", [True, False])
def test_weight_of_kl_is_for_training_only(training):
    module = tiny_module()
    objective = tiny_objective(module, label_weight=0.0).train(training)
    objective.kl_weight = 0.25
    terms, _ = objective(module, *batch(torch.arange(6) % 3), seeded())
    free = 0.75 * terms["kl_v"] if training else 0
    torch.testing.assert_close(terms["objective"], terms["elbo"] + free)


def test_history_holds_every_term_for_train_and_valid(make, blobs, few):
    model = make(max_epochs=3, early_stopping=True, validation_fraction=0.4).fit(blobs[0], few)
    assert len(model.history_) == 3
    terms = model.net_.criterion_.term_names
    assert {"objective", "elbo", "log_q_y", "consistency", "prototype", "linear"} < {*terms}
    for row in model.history_:
        for part in ("train", "valid"):
            values = {name: row[f"{part}_{name}"] for name in terms}
            assert np.isfinite(list(values.values())).all()
            elbo = values["reconstruction"] - values["kl_v"] - values["kl_y"] + values["log_p_y"]
            assert values["elbo"] == pytest.approx(elbo, abs=1e-4)
            assert row[f"{part}_loss"] == pytest.approx(-values["objective"], rel=1e-5)
        assert row["train_kl_y"] > 0
        assert row["valid_kl_y"] == 0  # validation rows are labelled


def test_history_holds_no_term_of_weight_0(make, blobs, few):
    objective = Objective(consistency_weight=0.0, linear_weight=0.0)
    for row in make(objective=objective).fit(blobs[0], few).history_:
        assert {"train_log_q_y", "train_prototype"} < row.keys()
        assert not {"train_consistency", "train_linear"} & row.keys()


def test_without_validation_there_are_no_such_terms(make, blobs):
    assert not any("valid" in name for name in make().fit(*blobs).history_[0])


class Spy(Callback):
    """Notes the global generators, and the loss of each batch."""

    def on_batch_begin(self, net, **kwargs):
        self.states = [*getattr(self, "states", []), torch.get_rng_state()]


def test_training_draws_from_one_generator(make, blobs, few):
    """The global one stands still from the first batch to the last."""
    spy = Spy()
    model = make(callbacks=[("spy", spy)], augment="auto").fit(blobs[0], few)
    states = dict(model.net_.callbacks_)["spy"].states
    assert len(states) > 2
    assert all(torch.equal(states[0], state) for state in states)
    assert not torch.equal(model.net_.generator.get_state(), seeded().get_state())


def test_validation_has_the_same_noise_each_time(make, blobs):
    net = make().fit(*blobs).net_
    rows = net.get_dataset(*blobs)[:]
    before = net.generator.get_state()
    first, second = (net.validation_step(rows)["loss"].item() for _ in range(2))
    assert first == second
    assert torch.equal(net.generator.get_state(), before)
    assert not net.module_.predictor.training


def n_steps(net):
    """Steps of the optimiser, which are the same for all weights."""
    (n,) = {int(state["step"]) for state in net.optimizer_.state.values()}
    return n


def test_partial_fit_goes_on_in_a_net_of_its_own(make, blobs):
    model = make(max_epochs=2, lr=0.01, objective=Objective(max_batch_size=None)).fit(*blobs)
    old = model.net_
    new = model.set_params(lr=0.02).partial_fit(*blobs).net_
    assert new is not old
    assert new.max_epochs == 1
    assert new.optimizer_.param_groups[0]["lr"] == 0.02
    assert old.optimizer_.param_groups[0]["lr"] != 0.02
    # the optimiser goes on with its state, on weights of its own
    assert (n_steps(old), n_steps(new)) == (8, 12)
    trained = {id(p) for g in new.optimizer_.param_groups for p in g["params"]}
    assert trained & {id(p) for p in new.module_.module.parameters()}
    assert not trained & {id(p) for p in old.module_.parameters()}


def test_partial_fit_goes_on_with_noise_and_memory(make, blobs):
    old = make().fit(*blobs).net_
    fresh = make(random_state=1).fit(*blobs).net_
    fresh.resume(old)
    assert torch.equal(fresh.generator.get_state(), old.generator.get_state())
    rngs = [net.iterator_train__rng.get_state()[1] for net in (fresh, old)]
    np.testing.assert_array_equal(*rngs)
    torch.testing.assert_close(fresh.criterion_.memory.means, old.criterion_.memory.means)


def test_partial_fit_goes_by_the_parameters_of_the_day(make, blobs):
    model = make().fit(*blobs)
    model.set_params(objective__label_weight=2.0, objective__consistency_weight=0.0, batch_size=30)
    net = model.partial_fit(*blobs).net_
    assert net.criterion_.weights["log_q_y"] == 2.0
    assert net.iterator_train__max_batch_size == 30
    assert "train_consistency" in model.history_[0]
    assert "train_consistency" not in model.history_[-1]


class Interrupt(Callback):
    def on_batch_end(self, net, training, **kwargs):
        if len(net.history) == 2:
            raise KeyboardInterrupt


def test_a_callback_may_end_training_without_a_word(make, blobs):
    model = make(max_epochs=5, callbacks=[Interrupt()]).fit(*blobs)
    assert model.n_iter_ == 1


def test_a_user_who_ends_training_is_told(make, blobs):
    calls = []

    def augment(x):
        calls.append(1)
        if len(calls) == 7:  # in the second epoch, of four batches
            raise KeyboardInterrupt
        return x

    model = make(max_epochs=5, augment=augment, objective=Objective(max_batch_size=None))
    with pytest.raises(KeyboardInterrupt, match="interrupted after 1 epochs"):
        model.fit(*blobs)
    assert model.predict(blobs[0]).shape == (60,)


def test_divergence_names_the_epoch_and_what_to_try(make, blobs):
    with pytest.raises(RuntimeError, match=r"diverged in epoch 1: .* Try a lower `lr`"):
        make(lr=1e30, batch_size=8).fit(*blobs)


@pytest.mark.parametrize("wrong", [3, "early", ("name", 3), ("a", "b", "c")])
def test_callbacks_must_be_callbacks(wrong):
    with pytest.raises(ValueError, match=r"list of skorch callbacks.*got"):
        check_callbacks([wrong])


def test_callbacks_as_skorch_takes_them():
    check_callbacks(None)
    check_callbacks([Spy(), Spy, ("name", Spy())])


def test_adam_is_that_of_torch():
    weights = [torch.nn.Parameter(torch.ones(5, dtype=torch.float64)) for _ in range(2)]
    pairs = list(zip(weights, (Adam, torch.optim.Adam), strict=True))
    optimizers = [adam([weight], lr=0.1, fused=True) for weight, adam in pairs]
    for k in range(1, 4):
        for weight, optimizer in zip(weights, optimizers, strict=True):
            optimizer.zero_grad()
            optimizer.step(lambda w=weight, k=k: (w**k * torch.arange(5)).sum().backward())
    torch.testing.assert_close(*weights, rtol=0, atol=0)
    assert (weights[0] != 1).any()


def test_fit_does_without_the_compiler():
    """Its import takes seconds, at the first fit of each process."""
    code = (
        "import sys; from sk_equivae import EquiVAEClassifier as C; "
        "C(max_epochs=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -------------------------------------------------------------------- a skorch classifier


@pytest.fixture(params=["tabular", "images", "bytes"])
def rows(request, blobs, images):
    """Rows in the user's units, and labels that are not codes."""
    X, y = blobs if request.param == "tabular" else images
    if request.param == "bytes":
        X = (255 * X).astype(np.uint8)
    return X, np.array(["x", "y", "z"])[y]


def test_the_net_predicts_codes_by_the_posterior(make, rows):
    X, y = rows
    objective = Objective(calibrate=False)
    model = make(max_epochs=10, predict_with="posterior", objective=objective).fit(X, y)
    net = model.net_
    assert isinstance(net, NeuralNetClassifier)
    np.testing.assert_allclose(net.predict_proba(X), model.predict_proba(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(model.classes_[net.predict(X)], model.predict(X))
    assert len({*net.predict(X)}) > 1


def test_the_net_scores_codes(make, rows):
    X, y = rows
    model = make(max_epochs=10, predict_with="posterior").fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    assert model.net_.score(X, codes) == pytest.approx(model.score(X, y))


@pytest.mark.parametrize("scoring", [EpochScoring, BatchScoring])
def test_scoring_of_validation_rows(make, rows, scoring):
    callback = scoring("accuracy", lower_is_better=False, name="mine")
    params = {"early_stopping": True, "validation_fraction": 0.4, "max_epochs": 4}
    model = make(callbacks=[callback], **params).fit(*rows)
    for row in model.history_:
        assert row["mine"] == pytest.approx(row["valid_accuracy"])
        assert isinstance(row["mine_best"], bool)


@pytest.mark.parametrize("scoring", [EpochScoring, BatchScoring])
def test_scoring_of_training_rows(make, rows, scoring):
    callback = scoring("accuracy", on_train=True, name="mine")
    for row in make(callbacks=[callback], max_epochs=4).fit(*rows).history_:
        assert row["mine"] == pytest.approx(row["train_accuracy"])


def test_scoring_by_a_function_of_rows_in_the_users_units(make, rows):
    X, y = rows
    codes = np.searchsorted(np.unique(y), y)

    def held_out(net, *ignored):
        return float(np.mean(net.predict(X) == codes))

    callback = EpochScoring(held_out, name="mine", on_train=True, use_caching=False)
    model = make(callbacks=[callback], predict_with="posterior").fit(X, y)
    assert all(0 <= row["mine"] <= 1 for row in model.history_)


def test_scoring_leaves_the_training_as_it_was(make, blobs, few, assert_same):
    callbacks = [EpochScoring("accuracy"), BatchScoring("accuracy", on_train=True, name="mine")]
    params = {"early_stopping": True, "validation_fraction": 0.4}
    scored = make(callbacks=callbacks, **params).fit(blobs[0], few)
    assert_same(scored, make(**params).fit(blobs[0], few))


def test_accuracy_in_the_history_is_that_of_the_labelled_rows(make, blobs, few):
    model = make(max_epochs=10, objective=Objective(teacher_decay=0.0)).fit(blobs[0], few)
    accuracy = [row["train_accuracy"] for row in model.history_]
    assert all(0 <= value <= 1 for value in accuracy)
    assert accuracy[-1] > 0.9


def test_out_of_memory_in_training_says_what_to_set(make, blobs):
    def greedy(x):
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(RuntimeError, match=r"Lower `batch_size`.*left as it was before"):
        make(augment=greedy).fit(*blobs)

"""Averages, schedule, history and the one source of noise."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from tests._models import random_rows, seeded, tiny_module, tiny_objective
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback

from sk_equivae._net import Adam, Averaged, CosineDecay, check_callbacks
from sk_equivae._objective import TERMS


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


def test_cosine_decay():
    decay = CosineDecay(100)
    assert decay(0) == 1
    assert decay(50) == pytest.approx(0.5)
    assert decay(25) == pytest.approx((1 + math.sqrt(0.5)) / 2)
    assert decay(100) == decay(1000) == 0
    steps = [decay(step) for step in range(101)]
    assert steps == sorted(steps, reverse=True)


def test_learning_rate_decays_over_the_whole_training(make, blobs):
    rates = [
        row["lr"] for row in make(max_epochs=4, lr=0.01, max_batch_size=16).fit(*blobs).history_
    ]
    expected = [0.01 * CosineDecay(4)(epoch) for epoch in (1, 2, 3, 4)]
    np.testing.assert_allclose(rates, expected, atol=1e-12)
    constant = make(lr_decay=None, lr=0.01).fit(*blobs).history_
    assert [row["lr"] for row in constant] == [0.01, 0.01]


class Weights(Callback):
    """Notes the weight of KL of v in each batch of training, and of validation."""

    def initialize(self):
        self.seen = {True: [], False: []}
        return self

    def on_batch_end(self, net, training, **kwargs):
        self.seen[training].append(net.criterion_.kl_weight)


def test_weight_of_kl_rises_over_a_part_of_training(make, blobs):
    model = make(max_epochs=5, kl_warmup=0.5, max_batch_size=None, callbacks=[("w", Weights())])
    net = model.fit(*blobs).net_
    expected = np.minimum(1, np.arange(20) / 10)  # 4 batches in each of 5 epochs
    np.testing.assert_allclose(dict(net.callbacks_)["w"].seen[True], expected)
    assert model.set_params(kl_warmup=1.0).fit(*blobs).net_.criterion_.kl_weight == 1.0
    net = model.set_params(kl_warmup=0.0).fit(*blobs).net_
    assert set(dict(net.callbacks_)["w"].seen[True]) == {1.0}


@pytest.mark.parametrize("training", [True, False])
def test_weight_of_kl_is_for_training_only(training):
    module = tiny_module()
    objective = tiny_objective(module, label_weight=0.0).train(training)
    objective.kl_weight = 0.25
    batch = random_rows(6, 4), torch.arange(6) % 3, torch.ones(6).double()
    terms = objective(module, batch, seeded())
    free = 0.75 * terms["kl_v"] if training else 0
    torch.testing.assert_close(terms["objective"], terms["elbo"] + free)


def test_history_holds_every_term_for_train_and_valid(make, blobs, few):
    model = make(max_epochs=3, early_stopping=True, validation_fraction=0.4).fit(blobs[0], few)
    assert len(model.history_) == 3
    for row in model.history_:
        for part in ("train", "valid"):
            values = {name: row[f"{part}_{name}"] for name in TERMS}
            assert np.isfinite(list(values.values())).all()
            elbo = values["reconstruction"] - values["kl_v"] - values["kl_y"] + values["log_p_y"]
            assert values["elbo"] == pytest.approx(elbo, abs=1e-4)
            assert row[f"{part}_loss"] == pytest.approx(-values["objective"], rel=1e-5)
        assert row["train_kl_y"] > 0
        assert row["valid_kl_y"] == 0  # validation rows are labelled


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
    X, y = blobs
    batch = torch.from_numpy(X.copy()), torch.from_numpy(y.copy()), torch.ones(len(y))
    before = net.generator.get_state()
    first, second = (net.validation_step(batch)["loss"].item() for _ in range(2))
    assert first == second
    assert torch.equal(net.generator.get_state(), before)
    assert not net.module_.predictor.training


def test_a_copy_for_one_epoch(make, blobs):
    net = make(max_epochs=2).fit(*blobs).net_
    copied = net.for_one_epoch(0.5)
    assert copied is not net
    assert copied.max_epochs == 1
    assert copied.optimizer_.param_groups[0]["lr"] == 0.5
    assert net.optimizer_.param_groups[0]["lr"] != 0.5
    # the optimiser goes on with its state, on the weights of the copy
    known = {id(p) for p in copied.module_.module.parameters()}
    assert {id(p) for g in copied.optimizer_.param_groups for p in g["params"]} & known
    assert copied.optimizer_.state


class Interrupt(Callback):
    def on_batch_end(self, net, training, **kwargs):
        if len(net.history) == 2:
            raise KeyboardInterrupt


def test_a_callback_may_end_training_without_a_word(make, blobs):
    model = make(max_epochs=5, callbacks=[Interrupt()]).fit(*blobs)
    assert model.n_iter_ == 1


def test_a_user_who_ends_training_is_told(make, blobs, monkeypatch):
    model = make(max_epochs=5)
    calls = []

    def augment(x):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return x

    model.set_params(augment=augment)
    with pytest.warns(ConvergenceWarning, match="interrupted in epoch"):
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

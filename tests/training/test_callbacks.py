"""The user's callbacks and interrupts."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from skorch.callbacks import Callback, LRScheduler
from torch.optim.lr_scheduler import LambdaLR


def test_a_scheduler_of_the_user_takes_the_place_of_ours(make, blobs):
    constant = LRScheduler(LambdaLR, lr_lambda=lambda epoch: 0.1)
    for given in (constant, ("rate", constant)):
        model = make(lr=0.01, max_epochs=3, callbacks=[given]).fit(*blobs)
        rates = [row["lr"] for row in model.history_]
        np.testing.assert_allclose(rates, 0.001)


def test_history_has_the_accuracy_of_each_epoch(make, blobs, few):
    X, y = blobs
    model = make(max_epochs=30, lr=1e-2).fit(X, few)
    scores = [row["train_accuracy"] for row in model.history_]
    assert scores[-1] > 0.9
    assert all(0 <= score <= 1 for score in scores)
    stopped = make(max_epochs=3, early_stopping=True).fit(X, y)
    assert all("valid_accuracy" in row for row in stopped.history_)


# -------------------------------------------------------------------- interrupts


def interrupt_at(n_calls):
    """Return an augmentation that is interrupted, as by Ctrl-C, at a call."""
    calls = []

    def augment(x):
        calls.append(1)
        if len(calls) == n_calls:
            raise KeyboardInterrupt
        return x

    return augment


def test_an_interrupt_in_the_first_epoch_changes_nothing(make, blobs, assert_same):
    model = make().fit(*blobs)
    before = assert_same.state_of(model)
    with pytest.raises(KeyboardInterrupt, match="Nothing changed"):
        model.set_params(augment=interrupt_at(1)).fit(*blobs)
    assert_same(before, model)
    new = make(augment=interrupt_at(1))
    with pytest.raises(KeyboardInterrupt):
        new.fit(*blobs)
    assert not hasattr(new, "model_")


def test_an_interrupt_later_keeps_what_was_learnt(make, blobs):
    model = make(max_epochs=5, augment=interrupt_at(10))  # 4 batches per epoch
    with pytest.raises(KeyboardInterrupt, match="after 2 epochs"):
        model.fit(*blobs)
    assert model.n_iter_ == 2
    assert model.predict(blobs[0]).shape == (60,)


def test_an_interrupt_ends_a_search(make, blobs):
    search = GridSearchCV(make(max_epochs=3, augment=interrupt_at(6)), {"m_max": [1, 2, 3]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*blobs)


class StopAtOnce(Callback):
    def on_epoch_end(self, net, **kwargs):
        raise KeyboardInterrupt  # how callbacks of skorch end training


def test_a_callback_may_end_training(make, blobs):
    assert make(max_epochs=5, callbacks=[StopAtOnce()]).fit(*blobs).n_iter_ == 1

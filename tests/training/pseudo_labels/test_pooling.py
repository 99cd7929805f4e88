"""Opinions are weighed by labels that were hidden from them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from sk_equivae.training.pseudo_labels import Opinion
from sk_equivae.training.pseudo_labels.pooling import (
    LEAST_GAIN,
    LEAST_WEIGHT,
    fit_weights,
    held_out,
    judge,
    log_likelihood,
)


def opinion(name="some", from_labels=True, learn=None, share=1.0):
    return Opinion(name, learn, from_labels, share)


def answers_of(truth, accuracy, rng, n_classes=3, n_repeats=2, certainty=2.0):
    """Log-probabilities of an expert that is right about a share of the rows."""
    right = rng.uniform(size=(n_repeats, len(truth))) < accuracy
    other = (truth + rng.randint(1, n_classes, size=right.shape)) % n_classes
    said = np.where(right, truth, other)
    return log_softmax(certainty * np.eye(n_classes)[said], axis=-1)


# -------------------------------------------------------------------- hidden labels


def test_each_label_is_hidden_once_per_repeat():
    codes = np.array([0, 0, 0, 0, 0, 1, 1, 2, -1, -1])
    asked = []

    def learn(known):
        assert set(known[known >= 0]) == {0, 1, 2}  # each class keeps a label
        np.testing.assert_array_equal(known[known >= 0], codes[known >= 0])

        def ask(positions):
            assert (known[positions] == -1).all()
            asked.extend(positions)
            return np.zeros((len(positions), 3)) + positions[:, None]

        return ask

    rows, answers = held_out([opinion(learn=learn)], codes, 3, n_folds=5, n_repeats=2, seed=0)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 6]  # the only label of class 2 stays
    assert sorted(asked) == sorted([*rows, *rows])
    np.testing.assert_array_equal(answers[0, 0, :, 0], rows)


def test_single_labels_are_not_hidden():
    def learn(known):
        raise AssertionError("there is nothing to hide")

    rows, _ = held_out([opinion(learn=learn)], np.array([0, 1, -1]), 2, 5, 2, seed=0)
    assert len(rows) == 0
    both = [opinion(share=1.5), opinion(share=0.5)]
    verdict = judge(both, np.zeros((2, 2, 0, 2)), rows, strength=3.0)
    assert verdict.weights.tolist() == [0.75, 0.25]
    assert np.isnan(verdict.accuracy).all()


# -------------------------------------------------------------------- weights


@pytest.mark.parametrize("strength", [0.3, 3.0])
def test_weights_are_the_most_probable(strength):
    """Found again without the gradient."""
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=40)
    answers = np.stack([answers_of(truth, a, rng) for a in (0.8, 0.6, 0.35)])

    def loss(weights):
        away = ((weights - 1 / 3) ** 2).sum()
        return strength * away - log_likelihood(answers, truth, weights)

    options = {"xatol": 1e-6, "fatol": 1e-9}
    bounds = [(0, None)] * 3
    slow = minimize(loss, np.full(3, 0.4), method="Nelder-Mead", bounds=bounds, options=options)
    weights = fit_weights(answers, truth, strength)
    np.testing.assert_allclose(weights, slow.x, atol=1e-3)
    assert weights[0] > weights[1] > weights[2]


def test_weights_are_not_negative():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=60)
    wrong = answers_of((truth + 1) % 3, 1.0, rng)
    answers = np.stack([answers_of(truth, 0.9, rng), wrong])
    weights = fit_weights(answers, truth, strength=0.1)
    assert weights[0] > 0.5
    assert weights[1] == 0


def test_few_labels_leave_weights_nearly_equal():
    rng = np.random.RandomState(0)
    truth = np.array([0, 1, 2])
    answers = np.stack([answers_of(truth, 1.0, rng), answers_of(truth, 0.3, rng)])
    few = fit_weights(answers, truth, strength=30.0)
    many = fit_weights(np.tile(answers, (1, 1, 200, 1)), np.tile(truth, 200), strength=30.0)
    assert np.ptp(few) < 0.1
    assert np.ptp(many) > 1


def test_weights_are_drawn_towards_their_shares():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=10)
    answers = np.stack([answers_of(truth, 0.7, rng)] * 2)
    first, second = fit_weights(answers, truth, 3.0, np.array([3.0, 1.0]))
    assert first - second == pytest.approx(0.5)  # as the shares: 3/4 and 1/4
    kinds = [opinion(share=3.0), opinion(share=1.0)]
    np.testing.assert_allclose(judge(kinds, answers, truth, 3.0).weights, [first, second])


# -------------------------------------------------------------------- verdict


@pytest.mark.parametrize("doubt, counts", [(0.2, False), (1.0, True)])
def test_unlabelled_rows_have_to_make_labels_clearly_more_probable(doubt, counts):
    """The graph is like the classifier of labels, but doubts one of its mistakes."""
    truth = np.arange(30) % 3
    said = np.where(np.arange(30) < 10, (truth + 1) % 3, truth)
    answers = np.stack([log_softmax(1.4 * np.eye(3)[said], axis=-1)[None]] * 2)
    answers[1, :, 0] = log_softmax((1 - doubt) * answers[1, :, 0], axis=-1)
    kinds = [opinion("svc"), opinion("graph", from_labels=False)]
    weights = judge(kinds, answers, truth, strength=3.0).weights
    assert (weights[1] > 0) == counts
    alone = fit_weights(answers[:1], truth, 3.0)
    gain = log_likelihood(answers, truth, fit_weights(answers, truth, 3.0)) - log_likelihood(
        answers[:1], truth, alone
    )
    assert gain > 0
    assert (gain > LEAST_GAIN) == counts


def test_opinion_of_unlabelled_rows_that_is_no_better_than_chance_counts_for_nothing():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=90)
    answers = np.stack([answers_of(truth, a, rng) for a in (0.7, 0.8, 0.0)])
    kinds = [opinion("svc"), opinion("graph", False), opinion("discriminant", False)]
    weights = judge(kinds, answers, truth, strength=3.0).weights
    assert weights[0] > 0
    assert weights[1] > 0
    assert weights[2] == 0


def test_labels_alone_where_unlabelled_rows_do_not_help():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=30)
    good = answers_of(truth, 0.9, rng)
    # like chance but for one row: its pull towards equal weights costs more than it gives
    poor = np.full_like(good, -np.log(3))
    poor[:, 0] = log_softmax(np.eye(3)[truth[0]])
    kinds = [opinion("svc"), opinion("graph", from_labels=False)]
    answers = np.stack([good, poor])
    verdict = judge(kinds, answers, truth, strength=100.0)
    assert verdict.weights[1] == 0
    np.testing.assert_allclose(verdict.weights[:1], fit_weights(answers[:1], truth, 100.0))


def test_verdict_tells_how_good_each_is():
    truth = np.array([0, 1, 0, 1])
    said = np.log(np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.1, 0.9]]))
    verdict = judge([opinion()], said[None, None], truth, strength=3.0)
    assert verdict.accuracy.tolist() == [0.75]
    expected = -np.log([0.8, 0.6, 0.3, 0.9]).mean()
    np.testing.assert_allclose(verdict.log_loss, expected)


def test_weights_are_never_tiny():
    """Classifiers that hidden labels contradict by chance still know more than nothing."""
    truth = np.arange(12) % 3
    wrong = log_softmax(5.0 * np.eye(3)[(truth + 1) % 3], axis=-1)
    known = [opinion(share=0.5), opinion(share=1.5)]
    verdict = judge(known, np.stack([wrong, wrong])[:, None], truth, strength=1e-3)
    np.testing.assert_allclose(verdict.weights, [0.125, 0.375])
    # but those that learn from unlabelled rows are left out
    kinds = [opinion(from_labels=False)]
    assert judge(kinds, wrong[None, None], truth, strength=1e-3).weights.tolist() == [0.0]


def test_weights_that_are_small_keep_their_proportions():
    rng, truth = np.random.RandomState(0), np.arange(300) % 3
    answers = np.stack([answers_of(truth, good, rng, certainty=20.0) for good in (0.6, 0.5)])
    found = fit_weights(answers, truth, strength=1.0)
    weights = judge([opinion(), opinion()], answers, truth, strength=1.0).weights
    assert found.sum() < LEAST_WEIGHT
    np.testing.assert_allclose(weights, LEAST_WEIGHT * found / found.sum())

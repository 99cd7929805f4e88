"""The search for temperatures, and for the weight of v in the likelihood rule."""

import numpy as np
from scipy.special import softmax

from sk_equivae.training.temperatures import best_likelihood, best_temperature


def test_labels_outweigh_beliefs():
    rng = np.random.RandomState(0)
    logits = 4 * rng.normal(size=(500, 3))
    labels = np.eye(3)[[rng.choice(3, p=p) for p in softmax(logits / 4, axis=1)]]
    sure = np.eye(3)[logits.argmax(axis=1)]
    assert abs(best_temperature([(logits, labels, 1.0)]) - 4) < 0.5
    assert best_temperature([(logits, sure, 1.0)]) < 0.3
    both = best_temperature([(logits, labels, 1.0), (logits, sure, 0.1)])
    assert 2 < both < 4


def test_weight_of_styles_is_learnt():
    """Features that say the same several times count less, so that v counts more."""
    rng = np.random.RandomState(0)
    labels = rng.randint(2, size=400)
    evidence, kl = (2 * np.eye(2)[labels] + 2 * rng.normal(size=(400, 2)) for _ in range(2))
    beliefs = np.eye(2)[labels]
    once = best_likelihood([(evidence, -kl, beliefs, 1.0)])
    often = best_likelihood([(5 * evidence, -kl, beliefs, 1.0)])
    np.testing.assert_allclose(np.divide(often, once), 5, rtol=0.1)


def test_wrong_rows_that_are_extremely_sure():
    """The loss is flat around 1 then; it is at least as low as with a temperature alone."""
    rng = np.random.RandomState(0)
    labels = rng.randint(5, size=500)
    density = 2e4 * np.eye(5)[labels]
    labels[:50] = rng.randint(5, size=50)
    beliefs, kl = np.eye(5)[labels], np.ones((500, 5))
    temperature, _ = best_likelihood([(density, kl, beliefs, 1.0)])
    assert temperature > 50

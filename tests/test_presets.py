"""The parameters of the paper's experiments."""

import pytest

from sk_equivae import EquiVAEClassifier
from sk_equivae.presets import paper


@pytest.mark.parametrize(
    ("dataset", "n_labels", "epochs", "rows", "latent_dim", "m_max"),
    [
        ("mnist", None, 40, 32, 16, 7),
        ("mnist", 100, 20, 64, 8, 4),
        ("mnist", 3000, 35, 64, 8, 4),
        ("svhn", None, 90, 32, 16, 10),
        ("svhn", 1000, 20, 64, 16, 10),
    ],
)
def test_numbers_of_the_paper(dataset, n_labels, epochs, rows, latent_dim, m_max):
    model = EquiVAEClassifier(**paper(dataset, n_labels))
    assert (model.max_epochs, model.batch_size) == (epochs, rows)
    assert (model.latent_dim, model.m_max) == (latent_dim, m_max)
    # Table 1 is by distance; with few labels r of the paper's settings is poor, and q(y|x) good
    assert model.predict_with == ("prototype" if n_labels is None else "posterior")


@pytest.mark.parametrize(("n_labels", "epochs"), [(50, 20), (100, 20), (700, 25), (60_000, 35)])
def test_other_numbers_of_labels_are_as_the_next_smaller_one(n_labels, epochs):
    assert paper("mnist", n_labels)["max_epochs"] == epochs


def test_unknown_data_set():
    with pytest.raises(ValueError, match=r"dataset should be one of .*'mnist', 'svhn'.*'cifar'"):
        paper("cifar")

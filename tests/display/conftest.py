"""Quick models to draw."""

import matplotlib
import pytest
from sklearn.datasets import load_digits, load_iris

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from sk_equivae import EquiVAEClassifier, EquiVAETransformer


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:80].reshape(-1, 8, 8) / 16, y[:80]


@pytest.fixture(scope="module")
def image_model(digits):
    model = EquiVAEClassifier(
        latent_dim=(3, 2), likelihood="bernoulli", max_epochs=1, random_state=0
    )
    return model.fit(*digits)


@pytest.fixture(scope="module")
def plane_model(digits):
    X, y = digits
    model = EquiVAETransformer(
        latent_dim=2, image_shape=(8, 8), max_epochs=2, early_stopping=True, random_state=0
    )
    return model.fit(X.reshape(-1, 64), y)


@pytest.fixture(scope="module")
def tabular_model():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return EquiVAEClassifier(latent_dim=2, max_epochs=2, random_state=0).fit(X, y)

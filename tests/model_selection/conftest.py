"""Models that are quick to fit, for searches that fit dozens of them."""

import pytest
from sklearn.linear_model import LogisticRegression

from sk_equivae import Experts, Objective


@pytest.fixture
def make(make):
    experts = Experts(classifiers=[LogisticRegression()], n_folds=2, n_repeats=1)
    return lambda **parameters: make(**{"objective": Objective(experts=experts), **parameters})

"""Rows of four classes whose features have units of their own."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

UNITS = np.array([1.0, 10.0, 100.0, 1000.0])


def four_classes():
    """Rows (240, 4) and their labels."""
    centers = 4 * np.array([[1, 1, 0, 0], [-1, 1, 1, 0], [0, -1, -1, 1], [1, -1, 1, -1]])
    X, y = make_blobs(240, centers=centers, cluster_std=0.3, random_state=0)
    along = np.random.RandomState(1).normal(size=(len(X), 1))  # what varies in every class
    X += 1.5 * along * np.array([1, 1, -1, 1])
    return X * UNITS + UNITS, y


def normalized(model, X):
    """Rows as the networks see them."""
    return model.model_.rows.normalize(torch.from_numpy(X), model.model_.module.like.dtype)

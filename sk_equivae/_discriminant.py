"""A linear discriminant beside the graph: what distances between tabular rows do not tell.

Features of tabular rows have units and spreads of their own, and a neighbour by all of them
together may be of another class. If the classes are clouds of one shape, a linear discriminant
finds the directions that count, once it has the graph's labels to learn from. Whether they are
such clouds shows in where it draws its line: no more neighbours should be on different sides of
it than of the graph's own line.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf_shrinkage, shrunk_covariance

N_ROUNDS = 10
# The graph has always a say; the discriminant has none if it parts so many times as many
# neighbours as the graph does.
MOST_TRUST = 0.99
TOO_MANY_PARTED = 2.0
# Of features of variance 1: a feature that never changes must not decide.
SMALLEST_VARIANCE = 1e-6


def parted(graph: csr_array, codes: NDArray) -> float:
    """What part of the edges of a graph is between rows of different classes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    >>> parted(path, np.array([0, 0, 1, 1, 1]))
    0.25
    """
    edges = graph.tocoo()
    return float(np.average(codes[edges.row] != codes[edges.col], weights=edges.data))


def trust(graph: csr_array, by_discriminant: NDArray, by_graph: NDArray) -> float:
    """How far to trust the classes of a discriminant: fully if it parts no more neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    >>> once, often = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
    >>> trust(path, once, once), trust(path, often, once)
    (0.99, 0.0)
    """
    own = parted(graph, by_graph)
    excess = parted(graph, by_discriminant) - own
    if excess <= 0:
        return MOST_TRUST
    most = (TOO_MANY_PARTED - 1) * own
    return MOST_TRUST * float(max(0.0, 1 - excess / most)) if most else 0.0


def discriminant(Z: NDArray, posterior: NDArray, prior: NDArray) -> Callable[[NDArray], NDArray]:
    r"""p(y | x) if the classes are normal with one covariance, for any rows.

    .. math:: d(y|x) \propto p(y) \, \mathcal{N}(x; \mu_y, \Sigma)

    It is scikit-learn's LinearDiscriminantAnalysis with a shrunk covariance, for rows that are
    of several classes in part.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
        The rows to learn from.
    posterior : ndarray of shape (n, n_classes)
        To what part they are of each class.
    prior : ndarray of shape (n_classes,)
        0 where a class has no rows.
    """
    center = Z.mean(axis=0)
    Z = Z - center
    sizes = posterior.sum(axis=0)[:, None]
    means = posterior.T @ Z / np.maximum(sizes, np.finfo(float).tiny)  # (n_classes, n_features)
    covariance = (Z.T @ Z - means.T @ (sizes * means)) / len(Z)
    shrinkage = ledoit_wolf_shrinkage(Z - posterior @ means, assume_centered=True)
    covariance = shrunk_covariance(covariance, shrinkage)
    covariance.flat[:: len(covariance) + 1] += SMALLEST_VARIANCE
    whiten = np.linalg.cholesky(np.linalg.inv(covariance))

    def classify(rows: NDArray) -> NDArray:
        distances = cdist((rows - center) @ whiten, means @ whiten, "sqeuclidean")
        with np.errstate(divide="ignore"):
            return softmax(np.log(prior) - distances / 2, axis=1)

    return classify


def with_discriminant(Z: NDArray, graph: csr_array, posterior: NDArray, codes: NDArray) -> NDArray:
    r"""The graph's probabilities mixed with those of a discriminant that learns from the mixture.

    .. math:: g(y|x) = (1 - \tau) \, g_{graph}(y|x) + \tau \, d(y|x)

    with the `discriminant` d and the `trust` :math:`\tau` in it. The discriminant learns from
    its own answers: this is expectation maximisation, with labels that stay.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
    graph : csr_array of shape (n, n)
    posterior : ndarray of shape (n, n_classes)
        By the graph; all is equal in rows that no label reaches.
    codes : ndarray of shape (n,)
        -1 where there is no label.

    Returns
    -------
    posterior : ndarray of shape (n, n_classes)
    """
    n_classes = posterior.shape[1]
    labeled = codes >= 0
    counts = np.bincount(codes[labeled], minlength=n_classes)
    known = labeled | (np.ptp(posterior, axis=1) > 0)
    part = graph[known][:, known]
    n_present = np.count_nonzero(counts)
    if n_present < 2 or np.count_nonzero(known) <= n_present or part.nnz == 0:
        return posterior  # there is nothing to learn
    Z = Z.astype(float)

    def with_labels(probability: NDArray) -> NDArray:
        probability = probability * (counts > 0)
        probability[labeled] = np.eye(n_classes)[codes[labeled]]
        return (probability / probability.sum(axis=1, keepdims=True))[known]

    by_graph = with_labels(posterior).argmax(axis=1)
    mixture = posterior
    for _ in range(N_ROUNDS):
        found = discriminant(Z[known], with_labels(mixture), counts / counts.sum())(Z)
        tau = trust(part, with_labels(found).argmax(axis=1), by_graph)
        mixture = (1 - tau) * posterior + tau * found
    return mixture

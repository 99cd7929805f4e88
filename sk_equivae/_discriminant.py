"""A linear discriminant beside the graph: what distances between tabular rows do not tell.

Features of tabular rows have units and spreads of their own, and a neighbour by all of them
together may be of another class. If the classes are clouds of one shape, a linear discriminant
finds the directions that count, once it has the graph's labels to learn from. Whether they are
such clouds shows in where it draws its line: no more neighbours should be on different sides of
it than of the graph's own line.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

N_ROUNDS = 5
# The discriminant is believed to be right so often at most, and never if it parts so many times
# as many neighbours as the graph does.
MOST_TRUST = 0.9
TOO_MANY_PARTED = 2.0


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
    return float(edges.data[codes[edges.row] != codes[edges.col]].sum() / edges.data.sum())


def trust(graph: csr_array, by_discriminant: NDArray, by_graph: NDArray) -> float:
    """How far to trust the classes of a discriminant: fully if it parts no more neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    >>> once, often = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
    >>> trust(path, once, once), trust(path, often, once)
    (0.9, 0.0)
    """
    own = parted(graph, by_graph)
    excess = parted(graph, by_discriminant) - own
    if excess <= 0:
        return MOST_TRUST
    most = (TOO_MANY_PARTED - 1) * own
    return MOST_TRUST * float(max(0.0, 1 - excess / most)) if most else 0.0


def discriminant(Z: NDArray, known: NDArray, codes: NDArray, counts: NDArray) -> NDArray:
    """The probability of each class for each row, if classes are normal with one covariance.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
    known : ndarray of bool, of shape (n,)
        The rows to learn from.
    codes : ndarray of shape (n_known,)
        Their classes.
    counts : ndarray of shape (n_classes,)
        How frequent the classes are relative to each other.
    """
    present = np.unique(codes)
    prior = counts[present] / counts[present].sum()
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=prior)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only one sample available")  # of a class
        model.fit(Z[known], codes)
    posterior = np.zeros((len(Z), len(counts)))
    posterior[:, present] = model.predict_proba(Z)
    return posterior


def with_discriminant(Z: NDArray, graph: csr_array, posterior: NDArray, codes: NDArray) -> NDArray:
    r"""The graph's probabilities times those of a discriminant that learns from the product.

    .. math:: g(y|x) \propto g_{graph}(y|x) \, [\tau \, d(y|x) + (1 - \tau) / K]

    with the discriminant d and the `trust` :math:`\tau` in it.

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
    n_present = np.count_nonzero(counts)
    if n_present < 2 or np.count_nonzero(known) <= n_present:  # no spread to learn
        return posterior
    part = graph[known][:, known]

    def classes(probability: NDArray) -> NDArray:
        best = np.where(counts > 0, probability, -1.0).argmax(axis=1)
        return np.where(labeled, codes, best)[known]

    product = posterior
    for _ in range(N_ROUNDS):
        found = discriminant(Z, known, classes(product), counts)
        tau = trust(part, classes(found), classes(posterior))
        product = posterior * (tau * found + (1 - tau) / n_classes)
        product /= product.sum(axis=1, keepdims=True)
    return product

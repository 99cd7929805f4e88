"""A linear discriminant that complements the graph for tabular rows.

The features of tabular rows differ in unit and relevance, so nearest neighbours may belong to
different classes. If the classes are normal with the same covariance, a linear discriminant
finds the relevant directions once it can learn from the labels of the graph. Whether it fits the
data shows at its decision boundary, which should separate no more neighbours from each other than
the graph's own classes do.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.utils._param_validation import Interval

from .source import Codes, Floats, Problem, Source

# Added to the variances, so that a constant feature has no influence. Features have variance 1.
SMALLEST_VARIANCE = 1e-6


def cut_fraction(graph: csr_array, codes: Codes) -> float:
    """Return the fraction of the edges of a graph that connect rows of different classes.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Weights of the edges.
    codes : ndarray of shape (n,)
        The class of each row.

    Returns
    -------
    fraction : float
        Weight of these edges, relative to all edges.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    >>> cut_fraction(path, np.array([0, 0, 1, 1, 1]))
    0.25
    """
    edges = graph.tocoo()
    return float(np.average(codes[edges.row] != codes[edges.col], weights=edges.data))


def fit_discriminant(Z: Floats, posterior: Floats, prior: Floats) -> Callable[[Floats], Floats]:
    r"""Fit a linear discriminant to rows with class probabilities in place of labels.

    .. math:: d(y|x) \propto p(y) \, \mathcal{N}(x; \mu_y, \Sigma)

    With one-hot probabilities this is scikit-learn's `LinearDiscriminantAnalysis` with a shrunk
    covariance.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
        The rows to learn from.
    posterior : ndarray of shape (n, n_classes)
        Their class probabilities.
    prior : ndarray of shape (n_classes,)
        Prior p(y) of the classes; 0 for a class without rows.

    Returns
    -------
    classify : callable
        Returns d(y | x) of shape (n, n_classes) for rows of shape (n, n_features).
    """
    from scipy.spatial.distance import cdist  # imported when needed, as in `graph`
    from sklearn.covariance import ledoit_wolf_shrinkage, shrunk_covariance

    center = Z.mean(axis=0)
    Z = Z - center
    sizes = posterior.sum(axis=0)[:, None]
    means = posterior.T @ Z / np.maximum(sizes, np.finfo(float).tiny)  # (n_classes, n_features)
    covariance = (Z.T @ Z - means.T @ (sizes * means)) / len(Z)
    shrinkage = ledoit_wolf_shrinkage(Z - posterior @ means, assume_centered=True)
    covariance = shrunk_covariance(covariance, shrinkage)
    covariance.flat[:: len(covariance) + 1] += SMALLEST_VARIANCE
    whiten = np.linalg.cholesky(np.linalg.inv(covariance))

    def classify(rows: Floats) -> Floats:
        distances = cdist((rows - center) @ whiten, means @ whiten, "sqeuclidean")
        with np.errstate(divide="ignore"):
            return softmax(np.log(prior) - distances / 2, axis=1)

    return classify


class Discriminant(Source):
    r"""Mix the class probabilities of the graph with those of a linear discriminant.

    .. math:: g(y|x) = (1 - \tau) \, g_{graph}(y|x) + \tau \, d(y|x)

    The discriminant is fitted to this mixture in turn, for several rounds. This is expectation
    maximisation in which given labels stay fixed. It needs the graph, and is used for tabular
    rows only.

    Parameters
    ----------
    n_rounds : int, default=10
        Rounds of expectation maximisation.
    max_weight : float, default=0.99
        Largest weight :math:`\tau` of the discriminant.
    max_cut_ratio : float, default=2
        The weight falls to 0 as the classes of the discriminant separate more neighbours than
        those of the graph do, and is 0 once they separate this many times as many.

    Examples
    --------
    >>> from sk_equivae import Discriminant, EquiVAEClassifier, Objective
    >>> clf = EquiVAEClassifier(objective=Objective(discriminant=Discriminant(n_rounds=5)))
    >>> clf.get_params()["objective__discriminant__n_rounds"]
    5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "max_weight": [Interval(Real, 0, 1, closed="left")],
        "max_cut_ratio": [Interval(Real, 1, None, closed="neither")],
    }

    def __init__(self, *, n_rounds: int = 10, max_weight: float = 0.99, max_cut_ratio: float = 2.0):
        self.n_rounds = n_rounds
        self.max_weight = max_weight
        self.max_cut_ratio = max_cut_ratio

    def prepare(self, problem: Problem) -> None:
        """Mix the discriminant into the class probabilities of the graph.

        Parameters
        ----------
        problem : Problem
            The rows and labels, after `Graph.prepare`; its `posterior` is replaced.
        """
        if problem.graph is None or problem.data.spec.is_image:
            return
        assert problem.Z is not None
        assert problem.posterior is not None
        codes = problem.data.codes[problem.rows]
        problem.posterior = self.mix(problem.Z, problem.graph, problem.posterior, codes)

    def weight(self, graph: csr_array, by_discriminant: Codes, by_graph: Codes) -> float:
        """Return the weight of the discriminant; see `max_weight` and `max_cut_ratio`.

        Parameters
        ----------
        graph : csr_array of shape (n, n)
            Graph of nearest neighbours.
        by_discriminant, by_graph : ndarray of shape (n,)
            Class codes of the rows by the discriminant and by the graph.

        Returns
        -------
        weight : float
            A value in [0, `max_weight`].

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse import csr_array
        >>> from sk_equivae.training.pseudo_labels import Discriminant
        >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
        >>> once, often = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
        >>> Discriminant().weight(path, once, once), Discriminant().weight(path, often, once)
        (0.99, 0.0)
        """
        own = cut_fraction(graph, by_graph)
        excess = cut_fraction(graph, by_discriminant) - own
        if excess <= 0:
            return self.max_weight
        most = (self.max_cut_ratio - 1) * own
        return self.max_weight * float(max(0.0, 1 - excess / most)) if most else 0.0

    def mix(self, Z: Floats, graph: csr_array, posterior: Floats, codes: Codes) -> Floats:
        """Return the mixture of the graph's posterior and the discriminant's.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            The rows.
        graph : csr_array of shape (n, n)
            Graph of nearest neighbours.
        posterior : ndarray of shape (n, n_classes)
            Class probabilities by the graph; uniform for rows that no label reaches.
        codes : ndarray of shape (n,)
            Class codes; -1 for unlabelled rows.

        Returns
        -------
        posterior : ndarray of shape (n, n_classes)
            The mixture.
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

        def with_labels(probability: Floats) -> Floats:
            probability = probability * (counts > 0)
            probability[labeled] = np.eye(n_classes)[codes[labeled]]
            return (probability / probability.sum(axis=1, keepdims=True))[known]

        by_graph = with_labels(posterior).argmax(axis=1)
        mixture = posterior
        for _ in range(self.n_rounds):
            found = fit_discriminant(Z[known], with_labels(mixture), counts / counts.sum())(Z)
            tau = self.weight(part, with_labels(found).argmax(axis=1), by_graph)
            mixture = (1 - tau) * posterior + tau * found
        return mixture

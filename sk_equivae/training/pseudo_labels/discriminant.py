"""A linear discriminant beside the graph: what distances between tabular rows do not tell.

Features of tabular rows have units and spreads of their own, and a neighbour by all of them
together may be of another class. If the classes are clouds of one shape, a linear discriminant
finds the directions that count, once it has the graph's labels to learn from. Whether they are
such clouds shows in where it draws its line: it should separate no more neighbours than the
graph's own line does.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.utils._param_validation import Interval

from .source import Codes, Floats, Problem, Source

# Of features of variance 1: a feature that never changes must not decide.
SMALLEST_VARIANCE = 1e-6


def cut_fraction(graph: csr_array, codes: Codes) -> float:
    """Return the fraction of edges of a graph between rows of different classes.

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
    r"""Return p(y | x) of any rows if the classes are normal with one covariance.

    .. math:: d(y|x) \propto p(y) \, \mathcal{N}(x; \mu_y, \Sigma)

    It is scikit-learn's LinearDiscriminantAnalysis with a shrunk covariance, for rows that
    belong to several classes in part.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
        The rows to learn from.
    posterior : ndarray of shape (n, n_classes)
        To which part they belong to each class.
    prior : ndarray of shape (n_classes,)
        0 for a class without rows.
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
    r"""Mix the graph's probabilities with those of a discriminant that learns from the mixture.

    .. math:: g(y|x) = (1 - \tau) \, g_{graph}(y|x) + \tau \, d(y|x)

    The discriminant learns from its own answers: this is expectation maximisation, with
    labels that stay. It needs the graph, and is used for tabular rows only.

    Parameters
    ----------
    n_rounds : int, default=10
        Rounds of expectation maximisation.
    max_weight : float, default=0.99
        Largest weight :math:`\tau`, so that the graph always has a say.
    max_cut_ratio : float, default=2
        The discriminant has no say if it separates this many times as many neighbours as
        the graph's own classes do.
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
        """Revise what the graph believes."""
        if problem.graph is None or problem.data.spec.is_image:
            return
        assert problem.Z is not None
        assert problem.posterior is not None
        codes = problem.data.codes[problem.rows]
        problem.posterior = self.mix(problem.Z, problem.graph, problem.posterior, codes)

    def weight(self, graph: csr_array, by_discriminant: Codes, by_graph: Codes) -> float:
        """Return the weight of the discriminant: the largest if it separates no more neighbours.

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
        graph : csr_array of shape (n, n)
        posterior : ndarray of shape (n, n_classes)
            By the graph; all classes are equal in rows that no label reaches.
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

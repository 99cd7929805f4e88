"""A linear discriminant that also learns from unlabelled rows, for tabular rows.

If the classes are normal with the same covariance, unlabelled rows tell where the classes are and
which directions matter. `Experts` finds out whether that is of use for the rows at hand.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils._param_validation import Interval

from ...fitted.compact import Positions, positions
from .source import DENSE_ROWS, Codes, Floats, Opinion, Problem, Source, some_labels

# Added to the variances, so that a constant feature has no influence. Features have variance 1.
SMALLEST_VARIANCE = 1e-6
# Smallest probability of a class, so that a single opinion does not rule it out.
SMALLEST = 1e-4


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
    """Offer the opinion of a linear discriminant that learns from unlabelled rows too.

    It is fitted to the labelled rows first, and then several times to all rows with the class
    probabilities that it gives them. This is expectation maximisation in which given labels stay
    fixed. For tabular rows only; `Experts` weighs it.

    Parameters
    ----------
    n_rounds : int, default=10
        Rounds of expectation maximisation.
    n_components : int, default=100
        Rows with more features are reduced to this many principal components.
    max_rows : int, default=16384
        Largest number of unlabelled rows to learn from; with more than 65,536 rows in all, also
        that of labelled ones.

    Examples
    --------
    >>> from sk_equivae import Discriminant, EquiVAEClassifier, Objective
    >>> clf = EquiVAEClassifier(objective=Objective(discriminant=Discriminant(n_rounds=5)))
    >>> clf.get_params()["objective__discriminant__n_rounds"]
    5
    """

    label: ClassVar[str] = "discriminant"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, n_rounds: int = 10, n_components: int = 100, max_rows: int = 16_384):
        self.n_rounds = n_rounds
        self.n_components = n_components
        self.max_rows = max_rows

    def prepare(self, problem: Problem) -> None:
        """Offer an opinion on tabular rows.

        Parameters
        ----------
        problem : Problem
            The rows and labels; an opinion is added to it.
        """
        if problem.data.spec.is_image or not (problem.data.own_codes < 0).any():
            return
        codes = problem.data.own_codes
        unlabeled = positions(codes < 0)
        if len(codes) > DENSE_ROWS:  # the rows that are learnt from are kept in memory
            codes = some_labels(codes, self.max_rows, problem.seed)
        labeled = positions(codes >= 0)
        rng = np.random.RandomState(problem.seed)
        some = np.concatenate([labeled, rng.permutation(unlabeled)[: self.max_rows]])
        Z = problem.features(some).astype(float)
        reduce = self._reduction(Z, problem.seed)
        Z = reduce(Z)

        def learn(codes: Codes) -> Callable[[Positions], Floats]:
            classify = self.fit(Z, codes[some], problem.n_classes)

            def ask(rows: Positions) -> Floats:
                Z = reduce(problem.features(rows).astype(float))
                return np.log(classify(Z) + SMALLEST)

            return ask

        problem.opinions.append(Opinion("discriminant", learn, from_labels=False))

    def _reduction(self, Z: Floats, seed: int) -> Callable[[Floats], Floats]:
        """Return a function that reduces rows with many features."""
        if Z.shape[1] <= self.n_components:
            return lambda rows: rows
        from sklearn.decomposition import PCA

        n_components = min(self.n_components, len(Z))
        return PCA(n_components, svd_solver="randomized", random_state=seed).fit(Z).transform

    def fit(self, Z: Floats, codes: Codes, n_classes: int) -> Callable[[Floats], Floats]:
        """Fit the discriminant to labelled and unlabelled rows.

        Parameters
        ----------
        Z : ndarray of shape (n, n_features)
            The rows.
        codes : ndarray of shape (n,)
            Class codes; -1 for unlabelled rows.
        n_classes : int
            Number of classes.

        Returns
        -------
        classify : callable
            As of `fit_discriminant`.

        Examples
        --------
        >>> import numpy as np
        >>> Z = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]])
        >>> classify = Discriminant().fit(Z, np.array([0, -1, -1, 1, -1, -1]), 2)
        >>> classify(Z).argmax(axis=1)
        array([0, 0, 0, 1, 1, 1])
        """
        labeled = codes >= 0
        known = np.eye(n_classes)[codes[labeled]]  # (n_labeled, n_classes)
        prior = known.mean(axis=0)
        classify = fit_discriminant(Z[labeled], known, prior)
        for _ in range(self.n_rounds):
            posterior = classify(Z)
            posterior[labeled] = known
            classify = fit_discriminant(Z, posterior, prior)
        return classify

r"""The distribution of v within each class.

Training pulls q(v | r_y, x) towards the prior p(v) = N(0, I), so over all rows v is distributed
roughly like the prior. Within a single class it need not be: a slant may be common among ones
and rare among sevens. The mean and covariance of

.. math:: q(v|y) = E_{p(x|y)}\, q(v|r_y, x) \approx N(\mu_y, \Sigma_y)

describe which v are usual within a class, and serve to transfer a style to another class.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.floating]
Moments = tuple[Floats, Floats]


class StyleMoments:
    """Mean and covariance of q(v | y) per class, accumulated batch by batch.

    Parameters
    ----------
    n_classes, n_equivariant : int
        Number of classes, and size of v.
    """

    def __init__(self, n_classes: int, n_equivariant: int):
        self.n_rows = np.zeros(n_classes)
        self.sums = np.zeros((n_classes, n_equivariant))
        self.squares = np.zeros((n_classes, n_equivariant, n_equivariant))

    def update(self, mean: Floats, variance: Floats, codes: NDArray[np.integer]) -> None:
        """Add a batch: the mean and variance of q(v | r_y, x) and the class of each row."""
        mean, variance = mean.astype(np.float64), variance.astype(np.float64)
        for code in np.unique(codes):
            m = mean[codes == code]
            self.n_rows[code] += len(m)
            self.sums[code] += m.sum(axis=0)
            self.squares[code] += m.T @ m + np.diag(variance[codes == code].sum(axis=0))

    def update_moments(self, old: Moments) -> Moments:
        """Return means and covariances, where those of `old` count like n_equivariant rows.

        In `fit`, `old` is the prior, so that a class with few rows stays close to it.

        Parameters
        ----------
        old : tuple of ndarray
            Means and covariances so far.

        Returns
        -------
        mean, covariance : ndarray
            The new means and covariances, one per class.
        """
        n_most = np.maximum(self.n_rows, 1)
        mean = self.sums / n_most[:, None]
        spread = self.squares / n_most[:, None, None] - mean[:, :, None] * mean[:, None]
        part = self.n_rows / (self.n_rows + self.sums.shape[1])
        return (
            old[0] + part[:, None] * (mean - old[0]),
            old[1] + part[:, None, None] * (spread - old[1]),
        )


def prior_moments(n_classes: int, n_equivariant: int) -> Moments:
    """Return the mean and covariance of the prior p(v), repeated for each class."""
    identity = np.eye(n_equivariant)
    return np.zeros((n_classes, n_equivariant)), np.tile(identity, (n_classes, 1, 1))


def to_class(u: Floats, codes: NDArray[np.integer], mean: Floats, covariance: Floats) -> Floats:
    r"""Map u ~ N(0, I) to v with the mean and covariance of a class.

    .. math:: v = \mu_y + L_y u, \quad L_y L_y^T = \Sigma_y

    Parameters
    ----------
    u : ndarray of shape (n, n_equivariant)
        Standard normal values.
    codes : ndarray of shape (n,)
        The class of each row.
    mean, covariance : ndarray of shape (n_classes, n_equivariant[, n_equivariant])
        Mean and covariance of v within each class.

    Returns
    -------
    v : ndarray of shape (n, n_equivariant)
        One v per row.

    Examples
    --------
    >>> import numpy as np
    >>> to_class(np.ones((1, 2)), np.array([0]), np.array([[5.0, 0]]), np.array([np.diag([4, 1])]))
    array([[7., 1.]])
    """
    v = np.empty_like(u, dtype=np.float64)
    for code in np.unique(codes):
        lower = np.linalg.cholesky(covariance[code])
        v[codes == code] = mean[code] + u[codes == code] @ lower.T
    return v


def from_class(v: Floats, codes: NDArray[np.integer], mean: Floats, covariance: Floats) -> Floats:
    r"""Invert `to_class`: :math:`u = L_y^{-1} (v - \mu_y)`."""
    u = np.empty_like(v, dtype=np.float64)
    for code in np.unique(codes):
        lower = np.linalg.cholesky(covariance[code])
        u[codes == code] = solve_triangular(lower, (v[codes == code] - mean[code]).T, lower=True).T
    return u

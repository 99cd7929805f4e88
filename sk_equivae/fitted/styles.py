r"""How v is distributed within each class.

The bound draws q(v | r_y, x) towards p(v) = N(0, I), and on average over all rows it gets there.
Within a class it need not: slanted sevens are not as frequent as slanted ones. The first two
moments of

.. math:: q(v|y) = E_{p(x|y)}\, q(v|r_y, x) \approx N(\mu_y, \Sigma_y)

tell what is usual within a class, and how the style of one class looks in another.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.floating]
Moments = tuple[Floats, Floats]


class StyleMoments:
    """The moments of q(v | y), gathered batch by batch.

    Parameters
    ----------
    n_classes, n_equivariant : int
    """

    def __init__(self, n_classes: int, n_equivariant: int):
        self.n_rows = np.zeros(n_classes)
        self.sums = np.zeros((n_classes, n_equivariant))
        self.squares = np.zeros((n_classes, n_equivariant, n_equivariant))

    def update(self, mean: Floats, variance: Floats, codes: NDArray[np.integer]) -> None:
        """Add rows: the mean and variance of q(v | r_y, x), and the class."""
        mean, variance = mean.astype(np.float64), variance.astype(np.float64)
        for code in np.unique(codes):
            m = mean[codes == code]
            self.n_rows[code] += len(m)
            self.sums[code] += m.sum(axis=0)
            self.squares[code] += m.T @ m + np.diag(variance[codes == code].sum(axis=0))

    def update_moments(self, old: Moments) -> Moments:
        """Return means and covariances; those of `old` count like n_equivariant rows.

        Before training `old` is the prior: a class with few rows stays near it.
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
    """Return means and covariances of p(v), per class."""
    identity = np.eye(n_equivariant)
    return np.zeros((n_classes, n_equivariant)), np.tile(identity, (n_classes, 1, 1))


def to_class(u: Floats, codes: NDArray[np.integer], mean: Floats, covariance: Floats) -> Floats:
    r"""Return v of a class for u ~ N(0, I).

    .. math:: v = \mu_y + L_y u, \quad L_y L_y^T = \Sigma_y

    Parameters
    ----------
    u : ndarray of shape (n, n_equivariant)
    codes : ndarray of shape (n,)
        The classes.
    mean, covariance : ndarray of shape (n_classes, n_equivariant[, n_equivariant])

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

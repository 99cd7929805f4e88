r"""v relative to its class: what a row has in common with rows of any class.

Within a class the means of q(v | r_y, x) have a distribution of their own. Its shape tells the
class, although v itself is not meant to. An invertible map :math:`T_y` per class turns it into a
standard normal,

.. math:: u = T_y(v), \quad u \sim N(0, I) \text{ for every class } y,

so that the class cannot be read from u. The map first standardises v. Then, several times, it
rotates the values and turns each coordinate into a normal one by its quantiles (Laparra et al.
2011, rotation-based iterative Gaussianization). Dimensions of v that the decoder hardly uses are
0 in u: their means are tiny, but differ from class to class.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtri
from scipy.stats import ortho_group

from .styles import Floats, Moments

Codes = NDArray[np.integer]
# A dimension of v is used if its KL is above this, in nats.
USED = 0.2
# Number of rotations, at most, and of rows of a class per rotation.
MAX_LAYERS, ROWS_PER_LAYER = 60, 50
# Number of quantiles per coordinate. Their values count like this many rows of a normal.
N_QUANTILES, PRIOR_ROWS = 17, 50
LEVELS = ndtri((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)


@dataclass(frozen=True)
class RelativeStyles:
    """The maps between v and u, one per class.

    Attributes
    ----------
    used : ndarray of bool, shape (n_equivariant,)
        The dimensions of v that u tells about; d of them.
    mean, lower : ndarray of shape (n_classes, d[, d])
        Mean of v in each class, and the Cholesky factor of its covariance.
    rotations : ndarray of shape (n_layers, d, d)
        Rotations, the same for all classes.
    quantiles : ndarray of shape (n_classes, n_layers, d, n_quantiles)
        The values that become `LEVELS`.
    rest : ndarray of shape (n_classes, n_equivariant)
        Mean of v in each class, for dimensions that are not used.
    """

    used: NDArray[np.bool_]
    mean: Floats
    lower: Floats
    rotations: Floats
    quantiles: Floats
    rest: Floats

    def fits(self, n_classes: int, n_equivariant: int) -> bool:
        """Return whether the arrays have the right shapes for that many classes and dimensions."""
        d, n_layers = int(self.used.sum()), len(self.rotations)
        expected = {
            "used": (n_equivariant,),
            "mean": (n_classes, d),
            "lower": (n_classes, d, d),
            "rotations": (n_layers, d, d),
            "quantiles": (n_classes, n_layers, d, N_QUANTILES),
            "rest": (n_classes, n_equivariant),
        }
        return all(getattr(self, name).shape == shape for name, shape in expected.items())

    def forward(self, v: Floats, codes: Codes) -> Floats:
        """Return u of rows with the given v and classes, of shape (n, n_equivariant)."""
        u = np.zeros(v.shape)
        for code in np.unique(codes):
            rows = codes == code
            part = _standardize(v[rows][:, self.used], self.mean[code], self.lower[code])
            for rotation, quantiles in zip(self.rotations, self.quantiles[code], strict=True):
                part = _interpolate(part @ rotation, quantiles, LEVELS)
            u[np.ix_(rows, self.used)] = part
        return u

    def backward(self, u: Floats, codes: Codes) -> Floats:
        """Return v for u and classes, the inverse of `forward` in the used dimensions."""
        v = self.rest[codes].astype(np.float64)
        for code in np.unique(codes):
            rows = codes == code
            part = u[rows][:, self.used].astype(np.float64)
            layers = zip(self.rotations[::-1], self.quantiles[code][::-1], strict=True)
            for rotation, quantiles in layers:
                part = _interpolate(part, LEVELS, quantiles) @ rotation.T
            v[np.ix_(rows, self.used)] = self.mean[code] + part @ self.lower[code].T
        return v

    def joined(self, moments: Moments, order: NDArray[np.integer]) -> "RelativeStyles":
        """Return the maps of these classes and of new ones, in the given order.

        Parameters
        ----------
        moments : tuple of ndarray
            Mean and covariance of v in the new classes.
        order : ndarray of int
            Positions in the classes, followed by the new ones.

        Returns
        -------
        relative : RelativeStyles
            One map per class.
        """
        (mean, covariance), used = moments, self.used
        added = {
            "mean": mean[:, used],
            "lower": np.linalg.cholesky(covariance[:, used][:, :, used]),
            "quantiles": np.tile(LEVELS, (len(mean), *self.quantiles.shape[1:3], 1)),
            "rest": mean,
        }
        each = {
            name: np.concatenate([getattr(self, name), values])[order]
            for name, values in added.items()
        }
        return replace(self, **each)


def fit_relative(v: Floats, codes: Codes, kl: Floats, moments: Moments) -> RelativeStyles:
    """Find the maps from rows.

    Parameters
    ----------
    v : ndarray of shape (n, n_equivariant)
        Means of q(v | r_y, x) of rows.
    codes : ndarray of shape (n,)
        Classes of the rows.
    kl : ndarray of shape (n_equivariant,)
        Mean KL of each dimension of v.
    moments : tuple of ndarray
        Mean and covariance of v for classes with fewer rows than dimensions.

    Returns
    -------
    relative : RelativeStyles
        One map per class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae.fitted.styles import prior_moments
    >>> rng = np.random.RandomState(0)
    >>> codes = np.arange(2000) % 2
    >>> v = np.where(codes, 1, -1)[:, None] * rng.exponential(size=(2000, 2))
    >>> relative = fit_relative(v, codes, np.ones(2), prior_moments(2, 2))
    >>> u = relative.forward(v, codes)
    >>> [bool(abs(u[codes == code].mean()) < 0.1) for code in (0, 1)]
    [True, True]
    >>> np.allclose(relative.backward(u, codes), v)
    True
    """
    used = kl > USED
    used[kl.argmax()] = True  # at least one
    mean, covariance = (np.array(moment, dtype=np.float64) for moment in moments)
    counts = np.bincount(codes, minlength=len(mean))
    n_layers = min(MAX_LAYERS, int(counts.max(initial=0)) // ROWS_PER_LAYER)
    d = int(used.sum())
    rotations = _rotations(n_layers, d)
    quantiles = np.tile(LEVELS, (len(mean), n_layers, d, 1))
    lower = np.zeros((len(mean), d, d))
    for code in range(len(mean)):
        rows = np.asarray(v[codes == code], dtype=np.float64)
        if len(rows) > 2 * d:
            mean[code], covariance[code] = _moments(rows)
        lower[code] = np.linalg.cholesky(covariance[code][np.ix_(used, used)])
        part = _standardize(rows[:, used], mean[code, used], lower[code])
        for layer in range(min(n_layers, len(rows) // ROWS_PER_LAYER)):
            part = part @ rotations[layer]
            quantiles[code, layer] = _quantiles(part)
            part = _interpolate(part, quantiles[code, layer], LEVELS)
    return RelativeStyles(used, mean[:, used], lower, rotations, quantiles, mean)


def relative_to_moments(moments: Moments) -> RelativeStyles:
    """Return maps that only standardise v, by the mean and covariance of each class."""
    n_equivariant = moments[0].shape[1]
    nobody = np.zeros((0, n_equivariant)), np.zeros(0, dtype=np.intp)
    return fit_relative(*nobody, np.ones(n_equivariant), moments)


def _moments(rows: Floats) -> Moments:
    """Return mean and covariance; a small multiple of the identity keeps it invertible."""
    covariance = np.cov(rows.T).reshape(rows.shape[1], -1)
    return rows.mean(axis=0), covariance + 1e-6 * np.eye(rows.shape[1])


def _rotations(n_layers: int, d: int) -> Floats:
    """Return fixed random rotations; the first is none, since single coordinates come first."""
    if d == 1 or n_layers < 2:
        return np.tile(np.eye(d), (n_layers, 1, 1))
    drawn = ortho_group.rvs(d, size=n_layers, random_state=0).reshape(n_layers, d, d)
    drawn[0] = np.eye(d)
    return drawn


def _standardize(v: Floats, mean: Floats, lower: Floats) -> Floats:
    return solve_triangular(lower, (v - mean).astype(np.float64).T, lower=True).T


def _quantiles(values: Floats) -> Floats:
    """Return increasing quantiles of each coordinate, of shape (d, n_quantiles)."""
    n = len(values)
    found = np.quantile(values, (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES, axis=0).T
    return (n * found + PRIOR_ROWS * LEVELS) / (n + PRIOR_ROWS)


def _interpolate(values: Floats, points: Floats, to: Floats) -> Floats:
    """Map each coordinate piecewise linearly from its points to others, and on beyond the ends."""
    shape = (values.shape[1], N_QUANTILES)
    points, to = np.broadcast_to(points, shape), np.broadcast_to(to, shape)
    result = np.empty(values.shape)
    for j, (x, a, b) in enumerate(zip(values.T, points, to, strict=True)):
        place = np.clip(np.searchsorted(a, x) - 1, 0, len(a) - 2)
        slope = (b[place + 1] - b[place]) / (a[place + 1] - a[place])
        result[:, j] = b[place] + (x - a[place]) * slope
    return result

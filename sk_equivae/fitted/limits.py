"""What the numeric columns of a table can hold, so that generated rows could be real ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Limits:
    """The kind and the range of each column in `fit`.

    Attributes
    ----------
    low, high : ndarray of shape (n_columns,)
        Smallest and largest value; NaN for a column without any value.
    integer : ndarray of bool, of shape (n_columns,)
        Whether all values are integers, of whatever dtype.

    Examples
    --------
    >>> import numpy as np
    >>> limits = Limits.learn([np.array([[1, 0.5, 7.0], [3, 2.5, 7.0]])])
    >>> limits.integer
    array([ True, False,  True])
    >>> limits.repair(np.array([[1.7, -0.1, 6.9], [9.0, 9.0, 7.1]]))
    array([[2., 0., 7.],
           [3., 9., 7.]])
    """

    low: Floats
    high: Floats
    integer: NDArray[np.bool_]

    @classmethod
    def learn(cls, parts: Iterable[NDArray[Any]]) -> "Limits":
        """Return the limits of a table that is given in parts; NaN is a missing value."""
        low: Any = np.nan
        high: Any = np.nan
        integer: Any = True
        for X in parts:
            low = np.fmin(low, np.fmin.reduce(X, axis=0))
            high = np.fmax(high, np.fmax.reduce(X, axis=0))
            integer = integer & ((np.rint(X) == X) | np.isnan(X)).all(axis=0)
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        return cls(low, high, integer & ~np.isnan(low))

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """The bounds of generated values, infinite where there is none."""
        exact = self.integer | (self.low == self.high)
        return (
            np.where(exact, self.low, np.where(self.low >= 0, 0.0, -np.inf)),
            np.where(exact, self.high, np.where(self.high <= 0, 0.0, np.inf)),
        )

    def repair(self, X: Floats) -> Floats:
        """Return generated rows as the columns can hold them.

        A constant column stays constant. Integers are rounded, and stay in the range seen in
        `fit`: they often are codes, grades or counts with a largest value. Other numbers may
        leave their range, since a few rows do not tell the limits of a measurement. But those
        that are never negative in `fit` stay so, and those that are never positive too.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
            Generated rows, in the user's units.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Rows that could be real.
        """
        return np.clip(np.where(self.integer, np.rint(X), X), *self.bounds)

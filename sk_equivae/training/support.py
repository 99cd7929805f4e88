"""Labelled rows that are added to a batch for r_y alone (Eq. 2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fitted.compact import Positions, by_code, count_codes

Codes = NDArray[np.integer[Any]]


class Support:
    """Labelled rows to add to a batch, so that every row finds complements in it.

    With unlabelled rows r_y is needed at every class; otherwise only at the classes of the
    batch. Added rows have no weight in any term: they only stand in for other rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes; -1 for unlabelled rows.
    n_least : int
        Number of rows per class that a batch should have, if the class has them.
    at_all_classes : bool
        Whether to add rows of classes of which the batch has none.
    rng : numpy.random.RandomState
        Source of the random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, 0, 1, 1, -1, -1])
    >>> support = Support(codes, 2, at_all_classes=True, rng=np.random.RandomState(0))
    >>> np.sort(support.added(np.array([1, 2, 5])))
    array([3, 4])
    """

    def __init__(
        self, codes: Codes, n_least: int, at_all_classes: bool, rng: np.random.RandomState
    ):
        self.codes = codes
        self.n_least = n_least
        self.at_all_classes = at_all_classes
        self.rng = rng
        self.counts = count_codes(codes)
        self.members = by_code(codes, self.counts)
        self.ends = np.cumsum(self.counts)

    def added(self, rows: Positions) -> Positions:
        """Return the rows to add to a batch.

        Parameters
        ----------
        rows : ndarray of int
            Positions of the rows of the batch.

        Returns
        -------
        added : ndarray of int
            Positions of further rows, none of them in the batch.
        """
        codes = self.codes[rows]
        present = np.bincount(codes[codes >= 0], minlength=len(self.counts))
        wanted = np.minimum(self.n_least, self.counts)
        if not (self.at_all_classes and (codes < 0).any()):
            wanted = np.where(present > 0, wanted, 0)
        parts = [rows[:0]]
        for code in np.flatnonzero(present < wanted):
            own = rows[codes == code]
            members = self.members[self.ends[code] - self.counts[code] : self.ends[code]]
            # as many as are in the batch may be drawn in vain
            drawn = self.rng.choice(members, wanted[code], replace=False)
            parts.append(drawn[~np.isin(drawn, own)][: wanted[code] - len(own)])
        return np.concatenate(parts)

"""Class probabilities of rows from before training, in little memory.

With many rows, an array of shape (n, n_classes) may not fit. Both classes here are indexed by
positions of rows, like such an array.
"""

from typing import Union

import numpy as np
from numpy.typing import NDArray

from ..files.archive import Tensors
from ..fitted.compact import Positions, code_dtype

Evidence = Union[NDArray[np.float32], "PartialEvidence", "RankedEvidence"]

# Classes of a row whose probabilities `RankedEvidence` holds.
N_RANKED = 4


class PartialEvidence:
    """Class probabilities of some rows; uniform for the others, which take no memory.

    Parameters
    ----------
    rows : ndarray of shape (n_known,)
        Positions of the rows, sorted.
    values : ndarray of shape (n_known, n_classes)
        Their class probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = PartialEvidence(np.array([1, 4]), np.float32([[0.9, 0.1], [0.2, 0.8]]))
    >>> evidence[np.array([4, 2])]
    array([[0.2, 0.8],
           [0.5, 0.5]], dtype=float32)
    """

    def __init__(self, rows: Positions, values: NDArray[np.float32]):
        self.rows = rows
        self.values = values

    def __getitem__(self, rows: Positions) -> NDArray[np.float32]:
        place = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        known = (self.rows[place] == rows)[:, None]
        return np.where(known, self.values[place], np.float32(1 / self.values.shape[1]))


class RankedEvidence:
    """The most probable classes of each row, in half precision.

    The other classes of a row share the rest of the probability. A row takes at most 16 bytes,
    whatever the number of classes.

    Parameters
    ----------
    n_rows, n_classes : int
        Number of rows, which are uniform at first, and of classes.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = RankedEvidence(3, n_classes=5)
    >>> evidence[np.array([1])] = np.array([[0.5, 0.2, 0.15, 0.1, 0.05]])
    >>> evidence[np.array([1, 2])].round(3)  # half precision has three digits
    array([[0.5 , 0.2 , 0.15, 0.1 , 0.05],
           [0.2 , 0.2 , 0.2 , 0.2 , 0.2 ]], dtype=float32)
    """

    def __init__(self, n_rows: int, n_classes: int):
        self.n_classes = n_classes
        shape = n_rows, min(N_RANKED, n_classes)
        self.codes = np.empty(shape, dtype=code_dtype(n_classes))
        self.values = np.empty(shape, dtype=np.float16)
        self.codes[:] = np.arange(shape[1])
        self.values[:] = 1 / n_classes

    def __setitem__(self, rows: Positions, posterior: NDArray[np.floating]) -> None:
        n_ranked = self.codes.shape[1]
        order = np.argsort(-posterior, axis=1, kind="stable")[:, :n_ranked]
        self.codes[rows] = order
        self.values[rows] = np.take_along_axis(posterior, order, axis=1)

    def __getitem__(self, rows: Positions) -> NDArray[np.float32]:
        values = self.values[rows].astype(np.float32)
        n_other = self.n_classes - values.shape[1]
        if n_other == 0:
            values /= values.sum(axis=1, keepdims=True)
        rest = (1 - values.sum(axis=1, keepdims=True)).clip(0) / max(1, n_other)
        found = np.repeat(rest, self.n_classes, axis=1)
        np.put_along_axis(found, self.codes[rows].astype(np.intp), values, axis=1)
        return found


def evidence_tensors(evidence: Evidence | None) -> Tensors:
    """Return evidence as the tensors of an archive."""
    if isinstance(evidence, RankedEvidence):
        # bytes, since an archive holds no numbers of 16 bits
        return {
            "evidence_codes": evidence.codes.view(np.uint8),
            "evidence_values": evidence.values.view(np.uint8),
            "evidence_classes": np.array([evidence.n_classes]),
        }
    if isinstance(evidence, PartialEvidence):
        return {"evidence": evidence.values, "evidence_rows": evidence.rows.astype(np.int64)}
    return {} if evidence is None else {"evidence": evidence}


def evidence_of(tensors: Tensors) -> Evidence | None:
    """Return the evidence of an archive; None if it has none."""
    if "evidence_codes" in tensors:
        ranked = RankedEvidence(0, int(tensors["evidence_classes"][0]))
        ranked.codes = tensors["evidence_codes"].view(ranked.codes.dtype)
        ranked.values = tensors["evidence_values"].view(ranked.values.dtype)
        return ranked
    values, rows = tensors.get("evidence"), tensors.get("evidence_rows")
    return values if values is None or rows is None else PartialEvidence(rows, values)

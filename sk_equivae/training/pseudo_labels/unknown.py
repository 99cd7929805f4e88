r"""Unlabelled rows of classes without any label, found before training.

A random walk over the graph of neighbours starts at a row and stops with probability
:math:`1 - \alpha` in each step. How often does it stop at a labelled row?

.. math:: u = \alpha D^{-1} W u + (1 - \alpha) \, 1_{labelled}

In a class with labels, u is about the share of labelled rows there; where no class has any, it is
close to 0. How small u may be for a row of a known class, held-out labels tell. If many more
unlabelled rows are below that, some of them belong to no known class.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.stats import beta

from ..batches import TrainingRows
from .graph import Graph
from .source import Codes, Floats

# With fewer folds, the verdict depends on how the labels are divided.
ALPHA, N_STEPS, N_FOLDS = 0.97, 100, 10
# Shares of held-out labels that may be below the threshold; the most telling one is taken.
SHARES = (0.02, 0.05, 0.1)
# Rows of unknown classes are assumed if the number of unlabelled rows below the threshold would
# be less probable than this without them.
P_VALUE = 5e-4
# The part of the rows below the threshold that is sure enough to learn from.
SUREST = 0.5
# Largest share of rows of no class.
MOST = 0.9


class Unknown(NamedTuple):
    """Rows that belong to no known class.

    Attributes
    ----------
    rows : ndarray of int
        Positions in X of rows that surely do.
    share : float
        Share of such rows among all rows, at least.
    """

    rows: NDArray[np.intp]
    share: float


def reach(graph: csr_array, labeled: Floats) -> Floats:
    """Return how often a random walk from each row stops at a labelled row.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        The graph of neighbours.
    labeled : ndarray of shape (n,)
        1 for labelled rows, else 0.

    Returns
    -------
    reach : ndarray of shape (n,)
        The probability u, one value per row. A walk ends after 100 steps at the latest.

    Examples
    --------
    Two groups of three rows; one row of the first group has a label:

    >>> groups = csr_array(np.kron(np.eye(2), 1 - np.eye(3)))
    >>> reach(groups, np.array([1.0, 0, 0, 0, 0, 0])).round(2)
    array([0.35, 0.33, 0.33, 0.  , 0.  , 0.  ])
    """
    step = diags_array(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph
    found = labeled
    for _ in range(N_STEPS):
        found = ALPHA * (step @ found) + (1 - ALPHA) * labeled
    return found


def held_out_reach(graph: csr_array, codes: Codes, seed: int) -> Floats | None:
    """Return the reach of labelled rows whose labels are hidden; None if labels are too few."""
    from sklearn.model_selection import StratifiedKFold  # imported when needed, as in `graph`

    labeled = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[labeled])
    n_folds = min(N_FOLDS, int(counts[counts > 0].min()))
    if n_folds < 2:
        return None
    found = np.empty(len(labeled))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for known, out in folds.split(labeled, codes[labeled]):
        part = np.zeros(len(codes))
        part[labeled[known]] = len(labeled) / len(known)  # as if there were as many labels
        found[out] = reach(graph, part)[labeled[out]]
    return found


def find_unknown(data: TrainingRows, graph: Graph, seed: int) -> Unknown | None:
    """Return unlabelled rows that belong to no known class; None if there are none to be seen.

    Parameters
    ----------
    data : TrainingRows
        The rows, labelled and unlabelled.
    graph : Graph
        How neighbours are found.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    unknown : Unknown or None
        At most as many rows as are labelled, and the share of such rows.
    """
    if (data.own_codes >= 0).all() or len(data) < 4:
        return None
    rng = np.random.RandomState(seed)
    rows = graph.rows_of(data, rng)
    codes = data.codes[rows]
    neighbors = graph.neighbors(graph.components(data, rows, seed))
    hidden = held_out_reach(neighbors, codes, seed)
    if hidden is None:
        return None
    unlabeled = np.flatnonzero(codes < 0)
    found = reach(neighbors, (codes >= 0).astype(float))[unlabeled]
    hidden.sort()
    n_hidden = len(hidden)
    ranks = 1 + (n_hidden * np.array(SHARES)).astype(int)
    below = np.array([(found < hidden[rank - 1]).mean() for rank in ranks])
    # the share of rows of the same kind below the k-th smallest of n has this distribution
    improbable = beta.sf(below, ranks, n_hidden + 1 - ranks)
    best = int(np.argmin(improbable))
    if improbable[best] > P_VALUE:
        return None
    usual = ranks[best] / (n_hidden + 1)
    share = min(MOST, (below[best] - usual) / (1 - usual))  # of the unlabelled rows
    order = unlabeled[np.argsort(found, kind="stable")]
    surest = order[: max(1, int(SUREST * share * len(unlabeled)))]
    some = rng.permutation(surest)[:n_hidden]
    return Unknown(np.sort(rows[some]), float(share * len(unlabeled) / len(codes)))

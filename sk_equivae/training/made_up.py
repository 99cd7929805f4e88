"""Made-up rows between those of a small table in which every row has a label.

A handful of rows is too few to train networks on, but not too few for the classifiers of `Experts`.
The networks learn from these what to make of the rows in between.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import TrainingRows
from .pseudo_labels import Experts, Source

# Number of rows, made-up ones included.
N_ROWS = 500
# With as many rows per class networks are good without experts.
ENOUGH_PER_CLASS = 10
# A made-up row lies between a row and one of this many neighbours.
N_NEIGHBORS = 10


def needs_rows(data: TrainingRows, sources: list[Source]) -> bool:
    """Return whether made-up rows should be added to a table for training.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    sources : list of Source
        The sources of class probabilities.

    Returns
    -------
    needed : bool
        True for a small table that is all labelled, if there are experts to ask.
    """
    asked = any(isinstance(source, Experts) for source in sources)
    if data.spec.is_image or len(data) >= N_ROWS or not asked:
        return False
    codes = data.own_codes
    n_classes = len(np.unique(codes))
    few = n_classes < len(data) < ENOUGH_PER_CLASS * n_classes
    return n_classes > 1 and few and bool((codes >= 0).all())


def add_rows(data: TrainingRows, seed: int) -> TrainingRows:
    """Return the rows, followed by unlabelled ones between them.

    A made-up row lies at a random place between a row and one of its neighbours. Integers,
    categories and missing values are those of either row.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    data : TrainingRows
        The rows. `n_made_up` of them are new.
    """
    rng = np.random.RandomState(seed)
    X, n_new = np.asarray(data.X[:]), N_ROWS - len(data)
    first = rng.randint(len(data), size=n_new)
    neighbors = _neighbors(data)
    second = neighbors[first, rng.randint(neighbors.shape[1], size=n_new)]
    place = rng.uniform(size=(n_new, 1))
    made = _between(X[data.rows], first, second, place, rng)
    more = TrainingRows(
        np.concatenate([X, made]),
        data.spec,
        np.concatenate([data.codes, np.full(n_new, -1, dtype=data.codes.dtype)]),
        np.concatenate([data.weight, np.ones(n_new)]),
    )
    if not data.has_all_rows:
        new = np.arange(len(X), len(X) + n_new, dtype=more.rows.dtype)
        more = more.subset(np.concatenate([data.rows, new]))
    more.n_made_up = n_new
    return more


def _neighbors(data: TrainingRows) -> NDArray[np.intp]:
    """Return the positions of the nearest other rows of each row."""
    from sklearn.neighbors import NearestNeighbors  # imported when needed, as in `graph`

    Z = data.normalized[data.rows.astype(np.intp)].flatten(1).cpu().numpy()
    nearest = NearestNeighbors(n_neighbors=min(N_NEIGHBORS, len(Z) - 1)).fit(Z)
    return np.asarray(nearest.kneighbors(return_distance=False))


def _between(
    X: NDArray[Any],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    place: NDArray[np.float64],
    rng: np.random.RandomState,
) -> NDArray[Any]:
    """Return rows between pairs of rows."""
    one, other = X[first], X[second]
    either = np.where(rng.uniform(size=one.shape) < place, other, one)
    if X.dtype.kind != "f":
        return either
    between = one + place * (other - one)
    is_number = np.array([_is_number(column) for column in X.T])
    return np.where(is_number & ~np.isnan(between), between, either).astype(X.dtype)


def _is_number(column: NDArray[Any]) -> bool:
    """Whether a column has values other than integers, and more than two."""
    values = np.unique(column[~np.isnan(column)])
    return len(values) > 2 and bool((np.round(values) != values).any())

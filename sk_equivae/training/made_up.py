"""Made-up rows between those of a small table, for the networks to learn the experts' opinion of.

Networks learn a few hundred rows by heart. What they make of other rows is then worse than what the
experts would say, who can be asked about any row.
"""

import numpy as np
from numpy.typing import NDArray

from .batches import TrainingRows
from .pseudo_labels import Experts, Source

# Number of rows, made-up ones included.
N_ROWS = 1_500
# With as many rows per class, all labelled, networks are good without experts.
ENOUGH_PER_CLASS = 20
# A made-up row lies between a row and one of so many neighbours.
N_NEIGHBORS = 10
import os
KIND = os.environ.get("H18_KIND", "pair")


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
        True for a small table, if there are experts to ask.
    """
    if data.spec.is_image or len(data) >= N_ROWS or not any(isinstance(s, Experts) for s in sources):
        return False
    codes = data.own_codes
    n_classes = len(np.unique(codes[codes >= 0]))
    few = len(data) < ENOUGH_PER_CLASS * n_classes
    return n_classes > 1 and (few or bool((codes < 0).any()))


def add_rows(data: TrainingRows, seed: int) -> TrainingRows:
    """Return the rows, and unlabelled ones between them.

    A made-up row lies at a random place between a row and a near one. Integers, categories and
    missing values are those of either row.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    data : TrainingRows
        The same rows, followed by made-up ones.
    """
    rng = np.random.RandomState(seed)
    n_new, X = N_ROWS - len(data), data.X
    near = rng.randint(len(data), size=n_new)
    one = X[data.rows[near]]
    if KIND == "pair":
        other = X[data.rows[rng.randint(len(data), size=n_new)]]
        place = rng.uniform(0, 0.5, size=(n_new, 1))
    else:
        nb = _neighbors(data)
        other = X[data.rows[nb[near, rng.randint(nb.shape[1], size=n_new)]]]
        place = rng.uniform(size=(n_new, 1)) if KIND == "near" else rng.uniform(size=one.shape)
    made = np.where(rng.uniform(size=one.shape) < place, other, one)
    if X.dtype.kind == "f":
        step = other - one
        if KIND == "diff":
            third = X[data.rows[nb[near, rng.randint(nb.shape[1], size=n_new)]]]
            between = one + (other - third) * rng.uniform(size=(n_new, 1))
        else:
            between = one + place * step
        known = X[data.rows]
        number = ((known != np.round(known)) & ~np.isnan(known)).any(axis=0)
        made = np.where(number & ~np.isnan(between), between, made).astype(X.dtype)
    changed = TrainingRows(
        np.concatenate([X, made]),
        data.spec,
        np.concatenate([data.codes, np.full(n_new, -1, dtype=data.codes.dtype)]),
        np.concatenate([data.weight, np.ones(n_new)]),
    )
    if not data.has_all_rows:
        new = np.arange(len(X), len(X) + n_new, dtype=changed.rows.dtype)
        changed = changed.subset(np.concatenate([data.rows, new]))
    changed.n_made_up, changed.near = n_new, near
    return changed


def _neighbors(data: TrainingRows) -> NDArray[np.intp]:
    """Return the positions of the nearest rows of each row."""
    from sklearn.neighbors import NearestNeighbors

    Z = data.normalized[data.rows.astype(np.intp)].flatten(1).cpu().numpy()
    n_neighbors = min(N_NEIGHBORS, len(Z) - 1)
    return NearestNeighbors(n_neighbors=n_neighbors).fit(Z).kneighbors(return_distance=False)

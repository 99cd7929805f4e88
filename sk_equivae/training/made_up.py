"""Made-up rows between those of a small table in which every row has a label.

A handful of rows is too few to train networks on, but not too few for the classifiers of `Experts`.
The networks learn from these what to think of the rows in between.
"""

import numpy as np

from .batches import TrainingRows
from .pseudo_labels import Experts, Source

# Tables with fewer rows per class are filled up with made-up rows.
FEW_PER_CLASS = 20
# Number of rows, made-up ones included.
N_ROWS = 500


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
        True for a small table, all labelled, with two classes or more, if there are experts.
    """
    if data.spec.is_image or len(data) >= N_ROWS or not any(isinstance(s, Experts) for s in sources):
        return False
    codes = data.own_codes
    n_classes = len(np.unique(codes))
    return bool((codes >= 0).all()) and n_classes > 1 and len(data) < FEW_PER_CLASS * n_classes


def add_rows(data: TrainingRows, seed: int) -> TrainingRows:
    """Return the rows and unlabelled ones between them.

    A made-up row lies at a random place between two rows. Integers, categories and missing values
    are those of either row.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    data : TrainingRows
        The same rows, followed by made-up ones. `n_made_up` is their number.
    """
    rng = np.random.RandomState(seed)
    n_new, X = N_ROWS - len(data), data.X
    one, other = (X[data.rows[rng.randint(len(data), size=n_new)]] for _ in range(2))
    place = rng.uniform(size=(n_new, 1))
    made = np.where(rng.uniform(size=one.shape) < place, other, one)
    if X.dtype.kind == "f":
        between = one + place * (other - one)
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
    changed.n_made_up = n_new
    return changed

"""A search on a Dask cluster that survives the loss of a worker."""

import contextlib
from collections.abc import Iterator
from typing import Any

import joblib


def _arrays(data: Any) -> Iterator[Any]:
    """Yield the arrays in nested lists and tuples."""
    if isinstance(data, (list, tuple)):
        for part in data:
            yield from _arrays(part)
    else:
        yield data


@contextlib.contextmanager
def dask_backend(client: Any, *data: Any) -> Iterator[None]:
    """Run scikit-learn's searches on a Dask cluster, with the data on every worker.

    joblib's own backend for Dask leaves arrays that it was not told of, such as the rows of a
    fold, on a single worker, and Dask drops copies of the others that seem superfluous. If the
    worker with the last copy is lost, the search fails. Here the data is sent once to every
    worker and stays there, so that another worker takes over. Needs `pip install
    "sk-equivae[cluster]"`.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster. Its memory manager is stopped inside the context, for all users
        of the cluster, so that it drops no copies.
    *data : array-likes, or lists of them
        The very objects that the search gets: X, y, weights, and the folds as a list.

    Yields
    ------
    None
        Inside the context, joblib's calls in parallel run on the cluster.

    Examples
    --------
    >>> def search_on(client, search, X, y):
    ...     folds = list(SemiSupervisedKFold(5).split(X, y))
    ...     with dask_backend(client, X, y, folds):
    ...         return search.set_params(cv=folds).fit(X, y)
    """
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "dask_backend needs Dask, which is not installed. Install it with "
            'pip install "sk-equivae[cluster]".'
        ) from error
    was_running = client.amm.running()
    client.amm.stop()
    try:
        with joblib.parallel_config(backend="dask", client=client, scatter=list(_arrays(data))):
            yield
    finally:
        if was_running:
            client.amm.start()

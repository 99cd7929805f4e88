"""From latents of many dimensions to points in a plane, by PCA or UMAP."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA


@contextlib.contextmanager
def _same_torch_threads() -> Iterator[None]:
    """Set the number of threads of torch back to what it was; UMAP's numba changes it."""
    n_threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def reduce_to_plane(
    Z: NDArray[Any], method: str = "pca", random_state: Any = 0
) -> tuple[NDArray[Any], str]:
    """Reduce points to two dimensions.

    Parameters
    ----------
    Z : ndarray of shape (n, n_dimensions)
        Points. With two dimensions they stay. If only one is in use, the other one is random, so
        that points do not cover each other.
    method : {"pca", "umap"}, default="pca"
        How points are reduced.
    random_state : int, RandomState instance or None, default=0
        Seed of the method.

    Returns
    -------
    points : ndarray of shape (n, 2)
        The points in the plane.
    description : str
        Name of the method, or "" if nothing was reduced.

    Examples
    --------
    >>> import numpy as np
    >>> points, description = reduce_to_plane(np.eye(3))
    >>> points.shape, description
    ((3, 2), 'PCA, 100% of variance')
    """
    if method not in ("pca", "umap"):
        raise ValueError(f"method should be 'pca' or 'umap'; got {method!r}. Pass one of them.")
    if Z.shape[1] == 2:
        return Z, ""
    used = np.ptp(Z, axis=0) > 0
    if not used.any():
        return np.zeros((len(Z), 2)), "all the same: not used by the model"
    if used.sum() == 1:
        heights = np.random.RandomState(0).uniform(-1, 1, len(Z))
        return np.column_stack([Z[:, used], heights]), "one dimension is used; heights are random"
    if method == "umap":
        return _umap(Z, random_state), "UMAP"
    pca = PCA(2, random_state=random_state)
    points = pca.fit_transform(Z)
    return points, f"PCA, {100 * pca.explained_variance_ratio_.sum():.0f}% of variance"


def _umap(Z: NDArray[Any], random_state: Any) -> NDArray[Any]:
    with _same_torch_threads():
        try:
            import umap
        except ImportError as error:
            raise ImportError(
                "method='umap' needs the package umap-learn, which is not installed. Install it "
                "with `pip install umap-learn`, or use method='pca'."
            ) from error
        # one thread: with more of them the same seed gives other points
        return umap.UMAP(n_components=2, random_state=random_state, n_jobs=1).fit_transform(Z)

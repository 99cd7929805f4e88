r"""Where the training rows are: distances by principal components, cheap to compute.

Far from the training rows the networks answer at random, and often with confidence. How far a row
is, its features tell without the networks. There are two ways to be far: within the plane of the
principal components, or away from it.

.. math:: d_1(x) = \sum_i z_i^2 / \lambda_i, \quad d_2(x) = ||x - \hat x||^2

where z are the principal components of x, :math:`\lambda` their variances, and :math:`\hat x` is
the row that they describe. With many features, a row can also be too close to the plane: an empty
image has none of the details that no component describes.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model.mixed import fill_missing
from ..model.rules import to_float64

N_COMPONENTS = 30
# Rows per component at least, so that variances of the components are not underestimated.
ROWS_PER_COMPONENT = 5
# Share of new rows of the same kind that may lie beyond the limit.
BEYOND = 1e-3
# How fast rows beyond the limit lose their meaning.
POWER = 4
# The smallest variance and squared distance, relative to the mean variance of the features.
SMALLEST = 1e-3
# With more features than this beside the components, no row is very close to their plane.
N_REST = 30
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Region:
    """Distances of rows from those of training, and how large they usually are.

    Attributes
    ----------
    center : ndarray of shape (n_inputs,)
        Mean of the rows, as the networks take them.
    components : ndarray of shape (n_components, n_inputs)
        Principal components.
    variances : ndarray of shape (n_components,)
        Their variances.
    limits : ndarray of shape (3,)
        Largest usual values of both distances, and the smallest of the second.
    """

    center: NDArray[np.floating]
    components: NDArray[np.floating]
    variances: NDArray[np.floating]
    limits: NDArray[np.floating]

    def distances(self, x: Tensor) -> Tensor:
        """Return both distances of normalised rows, of shape (n, 2), in float64 on the CPU."""
        flat = to_float64(fill_missing(x).flatten(1)) - torch.from_numpy(self.center)
        z = flat @ torch.from_numpy(self.components).T
        rest = (flat.square().sum(dim=1) - z.square().sum(dim=1)).clamp(min=0.0)
        inside = (z.square() / torch.from_numpy(self.variances)).sum(dim=1)
        return torch.stack([inside, rest], dim=1)

    def outlying(self, x: Tensor) -> Tensor:
        """Return 0 for rows within the limits, and values up to 1 for rows far from them."""
        limits, distances = torch.from_numpy(self.limits), self.distances(x)
        # the constant keeps a row without any distance from the plane from dividing by 0
        close = limits[2:] / (distances[:, 1:] + TINY * limits[2:] + TINY)
        ratio = torch.cat([distances / limits[:2], close], dim=1).amax(dim=1)
        return 1 - ratio.clamp(min=1.0) ** -POWER

    def widen(self, x: Tensor) -> "Region":
        """Return the region with limits that include more rows."""
        distances = self.distances(x).numpy()
        most, least = (np.quantile(distances, q, axis=0) for q in (1 - BEYOND, BEYOND))
        limits = np.append(np.maximum(self.limits[:2], most), min(self.limits[2], least[1]))
        return replace(self, limits=limits)


def find_region(x: Tensor, seed: int) -> Region:
    """Return the region of rows.

    One half of the rows determines the components, the other half the limit, since rows are
    closer to components that they have determined.

    Parameters
    ----------
    x : Tensor of shape (n, *input_shape)
        Normalised rows, in random order.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    region : Region
        The region.
    """
    from sklearn.decomposition import PCA  # slow to import

    flat = to_float64(fill_missing(x).flatten(1)).numpy()
    first, second = (flat[::2], x[1::2]) if len(flat) > 3 else (flat, x)
    center = first.mean(axis=0)
    total = float(first.var(axis=0).sum())
    n_components = min(N_COMPONENTS, len(first) // ROWS_PER_COMPONENT, flat.shape[1])
    components, variances = np.zeros((0, flat.shape[1])), np.zeros(0)
    if n_components and total > 0:
        pca = PCA(n_components, svd_solver="randomized", random_state=seed).fit(first)
        components, variances = np.ascontiguousarray(pca.components_), pca.explained_variance_
    # a feature that never varied is allowed to vary a little
    smallest = SMALLEST * total / flat.shape[1] or 1.0
    many = flat.shape[1] - n_components >= N_REST
    limits = np.array([smallest, smallest, np.inf if many else 0.0])
    return Region(center, components, np.maximum(variances, smallest), limits).widen(second)

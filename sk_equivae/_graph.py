"""Labels spread over a graph of nearest neighbours, before there is a network to ask.

The first labels that a network gives to unlabelled rows are poor, and it learns some of its
own mistakes by heart. A graph of the rows makes other mistakes: what is a chain of similar
rows to the graph may be far from all labels to the network. So the two label together, by the
product of their probabilities (`combine` in `_label_posterior`).
"""

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.semi_supervised import LabelSpreading

from ._batches import OrderedBatches, RowDataset
from ._device import to_device
from ._discriminant import with_discriminant
from ._module import EquiVAEModule

# More rows make a better graph, at a cost that grows with their square.
MOST_ROWS = 65_536
ROWS_AT_ONCE = 1024
N_NEIGHBORS = 7
# Neighbours by pixels are better by their first principal components, and found sooner.
N_COMPONENTS = 50
PCA_ROWS, PCA_VALUES = 4_096, 2**26
# Of what a row has, between so much and so much comes from its neighbours at each step.
LEAST_ALPHA, MOST_ALPHA = 0.9, 0.99
N_STEPS = 200
# The range of a feature is so many standard deviations, more or less, and is taken to be not more
# than so many.
USUAL_DEVIATIONS, MOST_DEVIATIONS = 4.0, 8.0
N_FOLDS = 5
POWERS = (0.0, *np.geomspace(0.25, 16, 13))
# No class is ruled out: what a row is taken for is at most so certain.
SMALLEST = 1e-3


def spread_labels(graph: csr_array, codes: NDArray, n_classes: int) -> NDArray:
    r"""How much of the labels of each class comes to each row (Zhou et al., 2004).

    .. math:: F \leftarrow \alpha D^{-1/2} W D^{-1/2} F + (1 - \alpha) Y

    with the graph W, its degrees D and the one-hot labels Y. The fewer rows are labelled, the
    farther labels have to go, and the larger is :math:`\alpha`.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        How near the rows are; symmetric.
    codes : ndarray of shape (n,)
        -1 where there is no label.

    Returns
    -------
    spread : ndarray of shape (n, n_classes)
        Rows sum to 1; all is equal in rows that no label reaches.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    >>> spread_labels(path, np.array([0, -1, -1, -1, 1]), 2).argmax(axis=1)[[0, 1, 3, 4]]
    array([0, 0, 1, 1])
    """
    alpha = np.clip(np.mean(codes < 0), LEAST_ALPHA, MOST_ALPHA)
    model = LabelSpreading(kernel=lambda X, y=None: graph, alpha=alpha, max_iter=N_STEPS, tol=0)
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many steps are enough
        model.fit(np.zeros((len(codes), 1)), codes)
    spread = np.zeros((len(codes), n_classes))
    spread[:, model.classes_] = np.nan_to_num(model.label_distributions_)
    unreached = spread.sum(axis=1) == 0
    spread[unreached] = 1 / n_classes
    return spread


def sharpen(spread: NDArray, power: float) -> NDArray:
    r"""Probabilities that are proportional to a power, mixed with a little of all classes.

    .. math:: g(y|x) = (1 - \epsilon) F_{xy}^\beta / \sum_{y'} F_{xy'}^\beta + \epsilon / K

    Examples
    --------
    >>> import numpy as np
    >>> sharpen(np.array([[0.6, 0.4]]), 3.0).round(2)
    array([[0.77, 0.23]])
    """
    raised = (spread / spread.max(axis=1, keepdims=True)) ** power
    raised /= raised.sum(axis=1, keepdims=True)
    return (1 - SMALLEST) * raised + SMALLEST / spread.shape[1]


def best_power(graph: csr_array, codes: NDArray, n_classes: int, seed: int) -> float:
    """The power for `sharpen` under which labels that were held out are most likely.

    0 where the graph tells nothing of the classes; 1 where a class has a single label, so that
    none can be held out.
    """
    labeled = np.flatnonzero(codes >= 0)
    n_folds = min(N_FOLDS, np.bincount(codes[labeled])[np.unique(codes[labeled])].min())
    if n_folds < 2:
        return 1.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    held_out = np.empty((len(labeled), n_classes))
    for _, out in folds.split(labeled, codes[labeled]):
        known = codes.copy()
        known[labeled[out]] = -1
        held_out[out] = spread_labels(graph, known, n_classes)[labeled[out]]
    # and one more, of any class: where few were held out and all were found, the next may be missed
    target = np.eye(n_classes)[codes[labeled]] + 1 / (len(labeled) * n_classes)
    likelihood = [(target * np.log(sharpen(held_out, power))).sum() for power in POWERS]
    return float(POWERS[int(np.argmax(likelihood))])


def neighbor_graph(Z: NDArray) -> csr_array:
    """Who is among the nearest neighbours of whom; 2 where it is mutual."""
    n_neighbors = min(N_NEIGHBORS, len(Z) - 1)
    graph = csr_array(kneighbors_graph(Z, n_neighbors))
    return csr_array(graph + graph.T)


def _same_units(chunks: Iterable[NDArray]) -> NDArray:
    """What to divide each feature of tabular rows by, so that distances weigh them alike.

    The range of the feature. In units of its standard deviation a feature that hardly ever
    changes is far away when it does, and the few rows where it does become each other's
    neighbours. Of a feature with outliers it is `MOST_DEVIATIONS` of these.
    """
    ranges, deviations = MinMaxScaler(), StandardScaler()
    for some in chunks:
        ranges.partial_fit(some)
        deviations.partial_fit(some)
    most = MOST_DEVIATIONS * np.sqrt(deviations.var_)
    return np.where(most > 0, np.minimum(ranges.data_range_, most), 1.0) / USUAL_DEVIATIONS


def _components(module: EquiVAEModule, data: RowDataset, rows: NDArray, seed: int) -> NDArray:
    """Rows between which distances tell something; of many features their principal components."""

    def flat(some: NDArray) -> Iterator[NDArray]:
        for x, *_ in OrderedBatches(data.subset(some), ROWS_AT_ONCE):
            yield module.normalize(to_device(x, module.scale)).flatten(1).cpu().float().numpy()

    scale = np.float32(1) if is_image(data) else _same_units(flat(rows)).astype(np.float32)
    n_features = int(np.prod(data.input_shape))
    if n_features <= N_COMPONENTS:
        return np.concatenate([x / scale for x in flat(rows)])
    most = min(PCA_ROWS, max(2 * N_COMPONENTS, PCA_VALUES // n_features))
    some = np.concatenate([x / scale for x in flat(rows[:: -(-len(rows) // most)])])
    n_components = min(N_COMPONENTS, len(some))
    pca = PCA(n_components, svd_solver="randomized", random_state=seed).fit(some)
    return np.concatenate([pca.transform(x / scale) for x in flat(rows)])


def is_image(data: RowDataset) -> bool:
    """Pixels have the same unit, features have not."""
    return len(data.input_shape) == 3


def _some_rows(data: RowDataset, rng: np.random.RandomState) -> NDArray:
    """Rows of the data for the graph, labelled ones for at most the half of it."""
    is_labeled = data.codes[data.rows] >= 0
    labeled, unlabeled = data.rows[is_labeled], data.rows[~is_labeled]
    if len(data.rows) > MOST_ROWS:
        labeled = rng.permutation(labeled)[: MOST_ROWS // 2]
        unlabeled = rng.permutation(unlabeled)[: MOST_ROWS - len(labeled)]
    return np.sort(np.concatenate([labeled, unlabeled]))


def graph_posterior(
    module: EquiVAEModule, data: RowDataset, n_classes: int, seed: int
) -> NDArray[np.float32]:
    """The probability of each class for each row of X by the graph, before training.

    Of tabular rows also by a linear discriminant, see `with_discriminant`.

    Returns
    -------
    posterior : ndarray of shape (len(data.X), n_classes)
        All classes are alike for rows that are not in the graph.
    """
    rows = _some_rows(data, np.random.RandomState(seed))
    posterior = np.full((len(data.X), n_classes), 1 / n_classes, dtype=np.float32)
    if len(rows) < 2:
        return posterior
    with torch.inference_mode():
        Z = _components(module, data, rows, seed)
    graph, codes = neighbor_graph(Z), data.codes[rows]
    power = best_power(graph, codes, n_classes, seed)
    by_graph = sharpen(spread_labels(graph, codes, n_classes), power)
    if not is_image(data):
        by_graph = with_discriminant(Z, graph, by_graph, codes)
    posterior[rows] = by_graph
    return posterior

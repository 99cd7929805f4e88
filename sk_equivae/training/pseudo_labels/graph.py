"""Labels spread over a graph of nearest neighbours, before there is a network to ask.

The first labels that a network gives to unlabelled rows are poor, and it learns some of its
own mistakes by heart. A graph of the rows makes other mistakes: a chain of similar rows may
be far from all labels to the network. So the two label together, by the product of their
probabilities.

The parts of scikit-learn that only the graph needs are imported when it is built: they take
as long to import as the rest of the package.
"""

import warnings
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from torch import Tensor

from ..batches import OrderedBatches, TrainingRows
from .source import Codes, Floats, Problem, Source, UnlabeledRows, normalized

ROWS_AT_ONCE = 1024
# Values that PCA is fitted on, at most; more do not change the components.
PCA_ROWS, PCA_VALUES = 4_096, 2**26
POWERS = (0.0, *np.geomspace(0.25, 16, 13))
# The range of a feature is about this many standard deviations.
USUAL_DEVIATIONS = 4.0


class Graph(Source):
    """Spread the labels over a graph of nearest neighbours.

    How far the result is trusted is found by holding labels out: it is raised to the power
    under which labels that were held out are most likely.

    Parameters
    ----------
    max_labeled : float, default=1/6
        The graph is used if at most this share of the rows is labelled. From more labels
        the network learns what the graph does not know. 1 always uses it.
    n_neighbors : int, default=7
    n_components : int, default=50
        Rows with more features are compared by their first principal components, where
        neighbours are better and found sooner.
    max_rows : int, default=65536
        Rows in the graph. More make a better graph, at a cost that grows with the square.
    alpha : (float, float), default=(0.9, 0.99)
        Least and largest share of its label that a row takes from its neighbours in a
        step. In between it is the share of unlabelled rows: the fewer labels, the farther
        they have to go.
    n_steps : int, default=200
    max_deviations : float, default=8
        Features of tabular rows are compared by their range, of which at most this many
        standard deviations count.
    n_folds : int, default=5
        Folds of labels held out; at most the labels of the smallest class.
    smallest : float, default=1e-3
        Probability shared by all classes, so that the graph rules no class out.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_labeled": [Interval(Real, 0, 1, closed="both")],
        "alpha": [tuple, list],
        "max_deviations": [Interval(Real, 0, None, closed="neither")],
        "smallest": [Interval(Real, 0, 1, closed="neither")],
        **{
            name: [Interval(Integral, least, None, closed="left")]
            for name, least in (
                ("n_neighbors", 1), ("n_components", 1), ("max_rows", 2), ("n_steps", 1),
                ("n_folds", 2),
            )
        },
    }  # fmt: skip

    def __init__(
        self,
        *,
        max_labeled: float = 1 / 6,
        n_neighbors: int = 7,
        n_components: int = 50,
        max_rows: int = 65_536,
        alpha: tuple[float, float] = (0.9, 0.99),
        n_steps: int = 200,
        max_deviations: float = 8.0,
        n_folds: int = 5,
        smallest: float = 1e-3,
    ):
        self.max_labeled = max_labeled
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.max_rows = max_rows
        self.alpha = alpha
        self.n_steps = n_steps
        self.max_deviations = max_deviations
        self.n_folds = n_folds
        self.smallest = smallest

    # ---------------------------------------------------------------- the source

    def prepare(self, problem: Problem) -> None:
        """Build the graph and spread the labels."""
        data, n_classes = problem.data, problem.n_classes
        if problem.labeled_share > self.max_labeled or len(data) < 2:
            return
        rows = self._rows(data, np.random.RandomState(problem.seed))
        Z = self._components(data, rows, problem.seed)
        graph, codes = self.neighbors(Z), data.codes[rows]
        power = self.best_power(graph, codes, n_classes, problem.seed)
        problem.posterior = self.sharpen(self.spread(graph, codes, n_classes), power)
        problem.rows, problem.Z, problem.graph = rows, Z, graph

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        r"""Return :math:`\tilde q(y|x) \propto q(y|x) \, g(y|x)`, as of independent evidence."""
        return q_y if rows.evidence is None else normalized(q_y * rows.evidence)

    # ---------------------------------------------------------------- its steps

    def _rows(self, data: TrainingRows, rng: np.random.RandomState) -> NDArray[np.intp]:
        """Return rows for the graph, of which at most half are labelled."""
        is_labeled = data.own_codes >= 0
        labeled, unlabeled = data.rows[is_labeled], data.rows[~is_labeled]
        if len(data.rows) > self.max_rows:
            labeled = rng.permutation(labeled)[: self.max_rows // 2]
            unlabeled = rng.permutation(unlabeled)[: self.max_rows - len(labeled)]
        return np.sort(np.concatenate([labeled, unlabeled]))

    def _components(
        self, data: TrainingRows, rows: NDArray[np.intp], seed: int
    ) -> NDArray[np.float32]:
        """Return rows between which distances mean something."""
        from sklearn.decomposition import PCA

        def flat(some: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
            for inputs, _ in OrderedBatches(data.subset(some), ROWS_AT_ONCE):
                yield inputs["x"].flatten(1).cpu().float().numpy()

        # pixels have the same unit, features have not
        scale: Any = np.float32(1)
        if not data.spec.is_image:
            scale = self._feature_units(flat(rows)).astype(np.float32)
        n_features = int(np.prod(data.spec.input_shape))
        if n_features <= self.n_components:
            return np.concatenate([x / scale for x in flat(rows)])
        most = min(PCA_ROWS, max(2 * self.n_components, PCA_VALUES // n_features))
        some = np.concatenate([x / scale for x in flat(rows[:: -(-len(rows) // most)])])
        n_components = min(self.n_components, len(some))
        pca = PCA(n_components, svd_solver="randomized", random_state=seed).fit(some)
        return np.concatenate([pca.transform(x / scale) for x in flat(rows)])

    def _feature_units(self, chunks: Iterable[NDArray[np.float32]]) -> Floats:
        """Return what to divide each feature by, so that distances weigh them alike.

        The range of the feature. In units of its standard deviation a feature that hardly
        ever changes is far away when it does, and the few rows where it does become each
        other's neighbours.
        """
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        ranges, deviations = MinMaxScaler(), StandardScaler()
        for some in chunks:
            ranges.partial_fit(some)
            deviations.partial_fit(some)
        most = self.max_deviations * np.sqrt(deviations.var_)
        return np.where(most > 0, np.minimum(ranges.data_range_, most), 1.0) / USUAL_DEVIATIONS

    def neighbors(self, Z: Floats) -> csr_array:
        """Return who is among the nearest neighbours of whom; 2 where it is mutual."""
        from sklearn.neighbors import kneighbors_graph

        n_neighbors = min(self.n_neighbors, len(Z) - 1)
        graph = csr_array(kneighbors_graph(Z, n_neighbors))
        return csr_array(graph + graph.T)

    def spread(self, graph: csr_array, codes: Codes, n_classes: int) -> Floats:
        r"""Return how much of the labels of each class reaches each row (Zhou et al., 2004).

        .. math:: F \leftarrow \alpha D^{-1/2} W D^{-1/2} F + (1 - \alpha) Y

        with the graph W, its degrees D and the one-hot labels Y.

        Parameters
        ----------
        graph : csr_array of shape (n, n)
            How near the rows are; symmetric.
        codes : ndarray of shape (n,)
            -1 where there is no label.
        n_classes : int

        Returns
        -------
        spread : ndarray of shape (n, n_classes)
            Rows sum to 1; all classes are equal in rows that no label reaches.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse import csr_array
        >>> from sk_equivae.training.pseudo_labels import Graph
        >>> path = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
        >>> Graph().spread(path, np.array([0, -1, -1, -1, 1]), 2).argmax(axis=1)[[0, 1, 3, 4]]
        array([0, 0, 1, 1])
        """
        from sklearn.semi_supervised import LabelSpreading

        alpha = np.clip(np.mean(codes < 0), *self.alpha)
        model = LabelSpreading(
            kernel=lambda X, y=None: graph, alpha=alpha, max_iter=self.n_steps, tol=0
        )
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)  # `n_steps` are enough
            model.fit(np.zeros((len(codes), 1)), codes)
        spread = np.zeros((len(codes), n_classes))
        spread[:, model.classes_] = np.nan_to_num(model.label_distributions_)
        spread[spread.sum(axis=1) == 0] = 1 / n_classes
        return spread

    def sharpen(self, spread: Floats, power: float) -> Floats:
        r"""Return probabilities proportional to a power, mixed with a little of all classes.

        .. math:: g(y|x) = (1 - \epsilon) F_{xy}^\beta / \sum_{y'} F_{xy'}^\beta + \epsilon / K

        Examples
        --------
        >>> import numpy as np
        >>> from sk_equivae.training.pseudo_labels import Graph
        >>> Graph().sharpen(np.array([[0.6, 0.4]]), 3.0).round(2)
        array([[0.77, 0.23]])
        """
        raised = (spread / spread.max(axis=1, keepdims=True)) ** power
        raised /= raised.sum(axis=1, keepdims=True)
        return (1 - self.smallest) * raised + self.smallest / spread.shape[1]

    def best_power(self, graph: csr_array, codes: Codes, n_classes: int, seed: int) -> float:
        """Return the power for `sharpen` under which held-out labels are most likely.

        0 where the graph says nothing about the classes; 1 where a class has a single
        label, so that none can be held out.
        """
        from sklearn.model_selection import StratifiedKFold

        labeled = np.flatnonzero(codes >= 0)
        smallest_class = np.bincount(codes[labeled])[np.unique(codes[labeled])].min()
        n_folds = min(self.n_folds, smallest_class)
        if n_folds < 2:
            return 1.0
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        held_out = np.empty((len(labeled), n_classes))
        for _, out in folds.split(labeled, codes[labeled]):
            known = codes.copy()
            known[labeled[out]] = -1
            held_out[out] = self.spread(graph, known, n_classes)[labeled[out]]
        # One more label, of any class: if all of a few labels were found, the next may be missed.
        target = np.eye(n_classes)[codes[labeled]] + 1 / (len(labeled) * n_classes)
        likelihood = [(target * np.log(self.sharpen(held_out, power))).sum() for power in POWERS]
        return float(POWERS[int(np.argmax(likelihood))])

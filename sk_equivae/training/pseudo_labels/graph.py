"""Label spreading over a graph of nearest neighbours, before training.

The first predictions of a network for unlabelled rows are poor, and it goes on to learn some of
its own mistakes. A graph of neighbours makes different mistakes: it follows chains of similar
rows that lead far away from any label. So the class probabilities of the two are multiplied.
What only the graph needs of scikit-learn is imported inside functions, since it is slow to import.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor

from ...fitted.rows import RowSpec
from ..batches import OrderedBatches, TrainingRows
from .gradients import oriented_gradients
from .source import (
    ROWS_AT_ONCE,
    Codes,
    Floats,
    Opinion,
    Problem,
    Source,
    UnlabeledRows,
    normalized,
)

# PCA is fitted to at most this many rows or values; more would not change the components.
PCA_ROWS, PCA_VALUES = 4_096, 2**26
POWERS = (0.0, *np.geomspace(0.25, 16, 13))
# Smaller images than this have few edges.
COARSE = 16
# The range of a typical feature, in standard deviations.
USUAL_DEVIATIONS = 4.0
# Smallest probability of a class in an opinion, so that a single one does not rule it out.
SMALLEST_OPINION = 1e-4


class Graph(Source):
    """Spread the labels over a graph of nearest neighbours.

    For images, the resulting class probabilities are raised to a power, which is chosen by
    cross-validation on the labels: the better the graph predicts held-out labels, the larger its
    influence. For tabular rows they are one of the opinions that `Experts` weighs.

    Parameters
    ----------
    max_labeled : float, default=1/6
        For images, the graph is used only if at most this share of the rows is labelled.
    n_neighbors : int, default=7
        Number of nearest neighbours of each row.
    image_features : {"auto", "gradients", "pixels"}, default="auto"
        What neighbouring images have in common: the directions of the edges in each part of the
        image, or their pixels. "auto" is "gradients" for images of at least 16 pixels in height
        and width: smaller ones are too coarse for edges. Not used for tabular rows.
    n_components : int, default=50
        Rows with more features are reduced to this many principal components.
    max_rows : int, default=65536
        Largest number of rows in the graph. The cost grows quadratically. A graph of tabular rows
        has all rows, or there is none.
    alpha : (float, float), default=(0.9, 0.99)
        Range of the share of its label that a row takes from its neighbours in each step.
        Within this range it is the share of unlabelled rows: few labels have to travel far.
    n_steps : int, default=200
        Number of steps of label spreading.
    max_deviations : float, default=8
        A feature of tabular rows is divided by its range, or by this many standard deviations.
    n_folds : int, default=5
        Number of folds of the cross-validation; at most the labels of the smallest class.
    smallest : float, default=1e-3
        Probability that is divided equally among all classes, so that no class is ruled out.

    Examples
    --------
    >>> from sk_equivae import EquiVAEClassifier, Graph, Objective
    >>> EquiVAEClassifier(objective=Objective(graph=Graph(n_neighbors=10))).objective.graph
    Graph(n_neighbors=10)
    """

    label: ClassVar[str] = "neighbour graph"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_labeled": [Interval(Real, 0, 1, closed="both")],
        "alpha": [tuple, list],
        "image_features": [StrOptions({"auto", "gradients", "pixels"})],
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
        image_features: str = "auto",
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
        self.image_features = image_features
        self.n_components = n_components
        self.max_rows = max_rows
        self.alpha = alpha
        self.n_steps = n_steps
        self.max_deviations = max_deviations
        self.n_folds = n_folds
        self.smallest = smallest

    # ---------------------------------------------------------------- the source

    def prepare(self, problem: Problem) -> None:
        """Build the graph and spread the labels.

        Parameters
        ----------
        problem : Problem
            The rows and labels. For images `rows` and `posterior` are set if the graph is used;
            for tabular rows an opinion is added.
        """
        data, n_classes = problem.data, problem.n_classes
        if not data.spec.is_image:
            self._offer(problem)
            return
        if problem.labeled_share > self.max_labeled or len(data) < 2:
            return
        rows = self.rows_of(data, np.random.RandomState(problem.seed))
        graph = self.neighbors(self.components(data, rows, problem.seed))
        codes = data.codes[rows]
        power = self.best_power(graph, codes, n_classes, problem.seed)
        problem.posterior = self.sharpen(self.spread(graph, codes, n_classes), power)
        problem.rows = rows

    def _offer(self, problem: Problem) -> None:
        """Add an opinion on tabular rows, if some are unlabelled and all fit into the graph."""
        data = problem.data
        if not (data.own_codes < 0).any() or not 2 <= len(data) <= self.max_rows:
            return
        graph = self.neighbors(self.components(data, data.rows, problem.seed))

        def learn(codes: Codes) -> Callable[[NDArray[np.intp]], Floats]:
            answers = np.log(self.spread(graph, codes, problem.n_classes) + SMALLEST_OPINION)
            return lambda positions: answers[positions]

        problem.opinions.append(Opinion("graph", learn, from_labels=False))

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        r"""Return :math:`\tilde q(y|x) \propto q(y|x) \, g(y|x)`.

        Parameters
        ----------
        q_y, rows : Tensor of shape (n, n_classes) and UnlabeledRows
            Class probabilities so far, and the rows, whose `evidence` is g(y | x).

        Returns
        -------
        q_y : Tensor of shape (n, n_classes)
            The product, normalised.
        """
        return q_y if rows.evidence is None else normalized(q_y * rows.evidence)

    # ---------------------------------------------------------------- its steps

    def rows_of(self, data: TrainingRows, rng: np.random.RandomState) -> NDArray[np.intp]:
        """Return the rows of the graph; if `max_rows` limits them, at most half are labelled.

        Parameters
        ----------
        data : TrainingRows
            The rows.
        rng : numpy.random.RandomState
            Source of the random numbers.

        Returns
        -------
        rows : ndarray of int
            Positions of the rows, sorted.
        """
        is_labeled = data.own_codes >= 0
        labeled, unlabeled = data.rows[is_labeled], data.rows[~is_labeled]
        if len(data.rows) > self.max_rows:
            labeled = rng.permutation(labeled)[: self.max_rows // 2]
            unlabeled = rng.permutation(unlabeled)[: self.max_rows - len(labeled)]
        return np.sort(np.concatenate([labeled, unlabeled]))

    def components(
        self, data: TrainingRows, rows: NDArray[np.intp], seed: int
    ) -> NDArray[np.float32]:
        """Return rows scaled, and reduced by PCA, so that distances are meaningful.

        Parameters
        ----------
        data : TrainingRows
            All rows.
        rows : ndarray of int
            Positions of the rows to return.
        seed : int
            Seed of the principal components.

        Returns
        -------
        components : ndarray of shape (n_rows, n_components)
            One point per row.
        """
        from sklearn.decomposition import PCA

        edges = self._compares_edges(data.spec)

        def flat(some: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
            for inputs, _ in OrderedBatches(data.subset(some), ROWS_AT_ONCE):
                x = oriented_gradients(inputs["x"]) if edges else inputs["x"].flatten(1)
                yield x.cpu().float().numpy()

        scale: Any = np.float32(1)  # pixels share a unit, features do not
        if not data.spec.is_image:
            scale = self._feature_units(flat(rows)).astype(np.float32)
        n_features = next(flat(rows[:1])).shape[1]
        if n_features <= self.n_components:
            return np.concatenate([x / scale for x in flat(rows)])
        most = min(PCA_ROWS, max(2 * self.n_components, PCA_VALUES // n_features))
        some = np.concatenate([x / scale for x in flat(rows[:: -(-len(rows) // most)])])
        n_components = min(self.n_components, len(some))
        pca = PCA(n_components, svd_solver="randomized", random_state=seed).fit(some)
        return np.concatenate([pca.transform(x / scale) for x in flat(rows)])

    def _compares_edges(self, spec: RowSpec) -> bool:
        """Return whether rows are images that are compared by their edges."""
        if not spec.is_image or self.image_features == "pixels":
            return False
        return self.image_features == "gradients" or min(spec.input_shape[1:]) >= COARSE

    def _feature_units(self, chunks: Iterable[NDArray[np.float32]]) -> Floats:
        """Return a divisor for each feature, proportional to its range.

        Divided by its standard deviation, a nearly constant feature would dominate distances.
        """
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        ranges, deviations = MinMaxScaler(), StandardScaler()
        for some in chunks:
            ranges.partial_fit(some)
            deviations.partial_fit(some)
        most = self.max_deviations * np.sqrt(deviations.var_)
        return np.where(most > 0, np.minimum(ranges.data_range_, most), 1.0) / USUAL_DEVIATIONS

    def neighbors(self, Z: Floats) -> csr_array:
        """Return the symmetric graph of nearest neighbours.

        Parameters
        ----------
        Z : ndarray of shape (n, n_components)
            The rows.

        Returns
        -------
        graph : csr_array of shape (n, n)
            2 where two rows are neighbours of each other, 1 where only one is of the other.
        """
        from sklearn.neighbors import kneighbors_graph

        n_neighbors = min(self.n_neighbors, len(Z) - 1)
        graph = csr_array(kneighbors_graph(Z, n_neighbors))
        return csr_array(graph + graph.T)

    def spread(self, graph: csr_array, codes: Codes, n_classes: int) -> Floats:
        r"""Spread the labels over the graph (Zhou et al., 2004).

        .. math:: F \leftarrow \alpha D^{-1/2} W D^{-1/2} F + (1 - \alpha) Y

        where W is the graph, D its degrees and Y the one-hot labels.

        Parameters
        ----------
        graph : csr_array of shape (n, n)
            The graph; symmetric.
        codes, n_classes : ndarray of shape (n,) and int
            Class codes, -1 for unlabelled rows, and number of classes.

        Returns
        -------
        spread : ndarray of shape (n, n_classes)
            F, normalised to class probabilities; uniform for rows that no label reaches.

        Examples
        --------
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
            warnings.simplefilter("ignore", ConvergenceWarning)  # it runs for `n_steps` steps
            model.fit(np.zeros((len(codes), 1)), codes)
        spread = np.zeros((len(codes), n_classes))
        spread[:, model.classes_] = np.nan_to_num(model.label_distributions_)
        spread[spread.sum(axis=1) == 0] = 1 / n_classes
        return spread

    def sharpen(self, spread: Floats, power: float) -> Floats:
        r"""Raise class probabilities to a power, and mix them with the uniform distribution.

        .. math:: g(y|x) = (1 - \epsilon) F_{xy}^\beta / \sum_{y'} F_{xy'}^\beta + \epsilon / K

        Parameters
        ----------
        spread, power : ndarray of shape (n, n_classes) and float
            Class probabilities F, and the power :math:`\beta`.

        Returns
        -------
        posterior : ndarray of shape (n, n_classes)
            Class probabilities g(y | x).

        Examples
        --------
        >>> Graph().sharpen(np.array([[0.6, 0.4]]), 3.0).round(2)
        array([[0.77, 0.23]])
        """
        raised = (spread / spread.max(axis=1, keepdims=True)) ** power
        raised /= raised.sum(axis=1, keepdims=True)
        return (1 - self.smallest) * raised + self.smallest / spread.shape[1]

    def best_power(self, graph: csr_array, codes: Codes, n_classes: int, seed: int) -> float:
        """Return the power for `sharpen` with the largest likelihood of held-out labels.

        Parameters
        ----------
        graph, codes, n_classes : csr_array, ndarray and int
            The graph and the labels, as for `spread`.
        seed : int
            Seed of the folds.

        Returns
        -------
        power : float
            0 if the graph predicts no labels; 1 if a class has a single one to hold out.
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
        # plus one label spread over all classes: the graph may be wrong about the next label
        target = np.eye(n_classes)[codes[labeled]] + 1 / (len(labeled) * n_classes)
        likelihood = [(target * np.log(self.sharpen(held_out, power))).sum() for power in POWERS]
        return float(POWERS[int(np.argmax(likelihood))])

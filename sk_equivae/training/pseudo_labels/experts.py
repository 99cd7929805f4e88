"""Classifiers of the labels alone, weighed together with the graph and the discriminant.

Unlabelled rows help where they reveal the classes, and mislead where they do not. Which it is,
held-out labels tell: every opinion on the unlabelled rows counts as much as it has earned there.
What only the experts need of scikit-learn is imported inside functions, as in `graph`.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from ...fitted.compact import Positions, positions
from ..row_evidence import RankedEvidence
from .pooling import Verdict, held_out, judge
from .source import DENSE_ROWS, Codes, Floats, Opinion, Problem, Source, some_labels

# Probability that is added to each class, so that a single opinion does not rule it out.
SMALLEST = 1e-3
CHUNK = 16_384
# With more labels than this, one draw of folds is enough.
FEW_LABELS = 500

# Trees take most of the time, and fewer of them get the same weight. At the end there are all.
FEWER_TREES = {"n_estimators": 30}
# Quantiles that ranks are computed from, rows for them, and largest score, of 1 row in 80.
N_QUANTILES, N_RANKED_ROWS, LARGEST_SCORE = 200, 10_000, 2.5

View = Callable[[Floats], Floats]
# For each opinion: its weight, whether it learns from labels alone, and how good it is alone.
Report = dict[str, dict[str, Any]]


def usual_classifiers() -> list[Any]:
    """Return classifiers that differ in their assumptions: lines, boxes and neighbourhoods."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    # solved to the end, so that another processor, which rounds differently, finds the same
    linear = LogisticRegression(tol=1e-8, max_iter=2_000)
    return [linear, ExtraTreesClassifier(), SVC(C=10, tol=1e-6)]


def normal_scores(Z: Floats) -> View | None:
    """Return a function that replaces features by the normal scores of their ranks in `Z`.

    Lines and distances then do not depend on the scale of a feature or on its few largest values.

    Parameters
    ----------
    Z : ndarray of shape (n, n_features)
        The rows that the ranks are those of.

    Returns
    -------
    view : callable or None
        Takes and returns rows. Features of two values stay; None if there are no others.

    Examples
    --------
    >>> view = normal_scores(np.array([[0.0], [1.0], [2.0], [3.0], [1000.0]]))
    >>> view(np.array([[1.0], [2.0], [500.0]])).round(1).ravel()
    array([-0.4,  0. ,  0.7])
    """
    from sklearn.preprocessing import QuantileTransformer

    two = np.array([len(np.unique(column)) <= 2 for column in Z.T])
    if two.all():
        return None
    ranks = QuantileTransformer(
        n_quantiles=min(N_QUANTILES, len(Z)), output_distribution="normal", random_state=0
    ).fit(Z)

    def scores(rows: Floats) -> Floats:
        return np.clip(ranks.transform(rows), -LARGEST_SCORE, LARGEST_SCORE)

    shift, scale = scores(Z).mean(axis=0), scores(Z).std(axis=0)
    scale[two | (scale == 0)] = 1.0
    return lambda rows: np.where(two, rows, (scores(rows) - shift) / scale)


class Experts(Source):
    """Weigh opinions on unlabelled tabular rows by how well they predict held-out labels.

    The opinions are those of classifiers that are fitted to the labelled rows alone, of the
    graph of neighbours and of the discriminant. Their weighed product is what the networks
    learn about the unlabelled rows. What the networks themselves predict has no part in it, since
    it is not known how good they are on held-out labels. `evidence_` of the estimator tells the
    weights.

    Graph and discriminant are left out unless held-out labels are clearly more probable with
    them than without. The weights sum up to 0.5 at least: where classes are hard to tell, a few
    held-out labels often make every opinion look worse than none.

    Parameters
    ----------
    classifiers : "auto", None or list of classifiers, default="auto"
        Classifiers with `predict_proba` or `decision_function`. "auto" is logistic regression,
        extremely randomised trees and a support vector machine; the first and the last see the
        features as they are, and a second time as ranks. With None only graph and discriminant
        are weighed.
    n_folds, n_repeats : int, default=5 and 2
        Folds in which labels are hidden, and how often they are drawn. More than 500 labels are
        hidden only once.
    strength : float, default=3.0
        How strongly the weights are drawn towards equal ones (half as much for a classifier that
        is asked twice). Its unit is the log-likelihood of held-out labels, so it matters less as
        there are more labels.
    max_labeled : int, default=2000
        Largest number of labelled rows to learn from.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_equivae import EquiVAEClassifier, Experts, Objective
    >>> experts = Experts(classifiers=[GaussianNB()])
    >>> EquiVAEClassifier(objective=Objective(experts=experts)).objective
    Objective(experts=Experts(classifiers=[GaussianNB()]))
    """

    label: ClassVar[str] = "experts"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "classifiers": [None, StrOptions({"auto"}), list, tuple],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "strength": [Interval(Real, 0, None, closed="neither")],
        "max_labeled": [Interval(Integral, 2, None, closed="left")],
    }
    report_: Report | None = None

    def __init__(
        self,
        classifiers: Any = "auto",
        *,
        n_folds: int = 5,
        n_repeats: int = 2,
        strength: float = 3.0,
        max_labeled: int = 2_000,
    ):
        self.classifiers = classifiers
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.strength = strength
        self.max_labeled = max_labeled

    # ---------------------------------------------------------------- the source

    def prepare(self, problem: Problem) -> None:
        """Weigh all opinions, and set the class probabilities of all rows.

        Parameters
        ----------
        problem : Problem
            The rows and labels, with the opinions of other sources; `rows` and `posterior` are
            set if some rows are unlabelled.
        """
        codes = some_labels(problem.data.own_codes, self.max_labeled, problem.seed)
        n_present = len(np.unique(codes[codes >= 0]))
        if problem.data.spec.is_image or not (problem.data.own_codes < 0).any() or n_present < 2:
            return
        opinions = [*self._own_opinions(problem, codes), *problem.opinions]
        if not opinions:
            return
        n_repeats = self.n_repeats if np.count_nonzero(codes >= 0) <= FEW_LABELS else 1
        hidden, answers = held_out(
            opinions, codes, problem.n_classes, self.n_folds, n_repeats, problem.seed
        )
        verdict = judge(opinions, answers, codes[hidden], self.strength)
        self.report_ = _report(opinions, verdict)
        pooled = self._pool(opinions, verdict.weights, codes, problem.n_classes)
        if len(codes) > DENSE_ROWS:
            problem.ranked = RankedEvidence(len(problem.data.X), problem.n_classes)
            for part, posterior in pooled:
                problem.ranked[problem.data.rows[part]] = posterior
            return
        problem.rows = problem.data.rows
        problem.posterior = np.concatenate([posterior for _, posterior in pooled])

    # ---------------------------------------------------------------- its steps

    def _own_opinions(self, problem: Problem, codes: Codes) -> list[Opinion]:
        """Return an opinion for each classifier, which learns from the labels of `codes`."""
        if self.classifiers is None:
            return []
        given = self.classifiers
        is_auto = isinstance(given, str)
        classifiers = usual_classifiers() if is_auto else given
        names: list[str] = []
        for classifier in classifiers:
            if not any(hasattr(classifier, m) for m in ("predict_proba", "decision_function")):
                raise ValueError(
                    "Experts expects classifiers that have predict_proba or decision_function; got "
                    f"{classifier!r}. Pass other classifiers, or classifiers='auto'."
                )
            name = type(classifier).__name__
            names.append(f"{name}-{names.count(name) + 1}" if name in names else name)
        named = [(n, _seeded(c, problem.seed)) for n, c in zip(names, classifiers, strict=True)]
        view = _ranks(problem) if is_auto else None
        opinions = []
        for name, c in named:
            is_forest = is_auto and hasattr(c, "n_estimators")
            learn = _learner(c, problem, codes, in_folds=FEWER_TREES if is_forest else {})
            if view is None or is_forest:  # trees go by ranks anyway
                opinions.append(Opinion(name, learn, from_labels=True))
                continue
            of_ranks = _learner(c, problem, codes, view)
            opinions.append(Opinion(name, learn, from_labels=True, share=0.5))
            opinions.append(Opinion(f"{name} of ranks", of_ranks, from_labels=True, share=0.5))
        return opinions

    def _pool(
        self, opinions: Sequence[Opinion], weights: Floats, codes: Codes, n_classes: int
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield the weighed product of the opinions on all rows, part by part."""
        kept = [(o.learn(codes), w) for o, w in zip(opinions, weights, strict=True) if w > 0]
        for part in gen_batches(len(codes), CHUNK):
            rows = np.arange(part.start, part.stop)
            total = np.zeros((len(rows), n_classes))
            for ask, weight in kept:
                total += weight * ask(rows)
            yield part, softmax(total, axis=1).astype(np.float32)


def unlabeled_share(report: Report) -> float:
    """Return the share of the weights that belongs to opinions that use unlabelled rows.

    Examples
    --------
    >>> graph, svc = {"weight": 1.0, "from_labels": False}, {"weight": 3.0, "from_labels": True}
    >>> unlabeled_share({"graph": graph, "SVC": svc})
    0.25
    """
    total = sum(row["weight"] for row in report.values())
    some = sum(row["weight"] for row in report.values() if not row["from_labels"])
    return some / total if total else 0.0


def _report(opinions: Sequence[Opinion], verdict: Verdict) -> Report:
    """Return what held-out labels say about each opinion, by name."""
    return {
        opinion.name: {
            "weight": float(verdict.weights[i]),
            "from_labels": opinion.from_labels,
            "accuracy": float(verdict.accuracy[i]),
            "log_loss": float(verdict.log_loss[i]),
        }
        for i, opinion in enumerate(opinions)
    }


def _seeded(classifier: Any, seed: int) -> Any:
    """Return a copy of a classifier whose random numbers start from a seed."""
    copy = clone(classifier)
    names = [n for n in copy.get_params() if n == "random_state" or n.endswith("__random_state")]
    return copy.set_params(**dict.fromkeys(names, seed))


def _ranks(problem: Problem) -> View | None:
    """Return the normal scores of ranks among the rows of a fit, or among some of many."""
    n_rows = len(problem.data)
    some = np.arange(n_rows)
    if n_rows > N_RANKED_ROWS:
        some = np.random.RandomState(problem.seed).randint(n_rows, size=N_RANKED_ROWS)
    return normal_scores(problem.features(some).astype(np.float64))


def _learner(
    classifier: Any,
    problem: Problem,
    codes: Codes,
    view: View | None = None,
    in_folds: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[Codes], Callable[[Positions], Floats]]:
    """Return the function `learn` of a classifier's opinion on rows, seen in a certain way.

    Where labels are hidden, the classifier gets the parameters `in_folds`.
    """
    all_labeled = positions(codes >= 0)

    def read(rows: Positions) -> Floats:
        X = problem.features(rows).astype(np.float64)  # solvers are exact in float64 only
        return X if view is None else view(X)

    X = read(all_labeled)  # once for all folds

    def learn(codes: Codes) -> Callable[[Positions], Floats]:
        known = codes[all_labeled] >= 0
        learner = clone(classifier).set_params(**({} if known.all() else in_folds))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(X[known], codes[all_labeled][known])

        return lambda rows: _log_probabilities(learner, read(rows), problem.n_classes)

    return learn


def _log_probabilities(classifier: Any, X: Floats, n_classes: int) -> Floats:
    """Return log-probabilities of all classes, those that the classifier does not know included."""
    if hasattr(classifier, "predict_proba"):
        found = classifier.predict_proba(X)
    else:
        scores = classifier.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1)
        found = softmax(2 * scores, axis=1)
    probabilities = np.full((len(X), n_classes), SMALLEST)
    probabilities[:, classifier.classes_] += found
    return log_softmax(np.log(probabilities), axis=1)

"""Rows of no class: which they are, and how they are marked."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..fitted.model import FittedModel
from .blocks import per_row
from .parameters import Parameters

# Share of known rows below `offset_` if the user does not say.
USUAL_REJECT = 0.05


def check_marker(marker: Any, classes: NDArray[Any], reject: float | None) -> None:
    """Raise if the marker of rejected rows is several values, or a class where it is used.

    Classes are compared by their values: 1, 1.0 and True are one class.
    """
    if np.ndim(marker):
        raise ValueError(f"rejected should be a single value; got {marker!r}.")
    if reject is not None and any(bool(label == marker) for label in classes.tolist()):
        raise ValueError(
            f"rejected should be a value that is no class; got {marker!r}, and the classes are "
            f"{classes.tolist()}. Name another marker."
        )


def with_marker(classes: NDArray[Any], codes: NDArray[Any], marker: Any) -> NDArray[Any]:
    """Return the labels of codes, and a marker where the code is -1.

    The dtype does not depend on the codes. Strings and numbers together are objects.

    Examples
    --------
    >>> import numpy as np
    >>> with_marker(np.array([5, 7]), np.array([1, -1]), -1)
    array([ 7, -1])
    >>> with_marker(np.array(["a", "b"]), np.array([1, -1]), "none")
    array(['b', 'none'], dtype='<U4')
    >>> with_marker(np.array(["a", "b"]), np.array([1, -1]), None)
    array(['b', None], dtype=object)
    """
    kinds = [np.asarray(value).dtype.kind.replace("u", "i") for value in (classes, marker)]
    same = kinds[0] == kinds[1] or set(kinds) == {"i", "f"}
    dtype = np.result_type(classes, np.asarray(marker)) if same else np.dtype(object)
    labels = np.empty(len(codes), dtype=dtype)
    labels[codes >= 0] = classes[codes[codes >= 0]]
    labels[codes < 0] = marker
    return labels


def is_marked(labels: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Return which labels are the marker of rejected rows.

    Examples
    --------
    >>> import numpy as np
    >>> is_marked(np.array(["a", -1, "b"], dtype=object), -1)
    array([False,  True, False])
    >>> is_marked(np.array([1.0, np.nan]), np.nan)
    array([False,  True])
    """
    is_nan = marker != marker
    return np.array(
        [bool(label != label if is_nan else label == marker) for label in labels.tolist()],
        dtype=bool,
    )


class RejectingEstimator(Parameters):
    """Scores that tell whether a row belongs to any class, and how sure predictions are."""

    model_: FittedModel

    @property
    def temperature_(self) -> dict[str, float]:
        """The number that log-probabilities are divided by, for each rule of `predict_with`."""
        return dict(self.model_.temperature)

    @property
    def offset_(self) -> float:
        """The score below which a row is rejected; at 5% of the known rows without `reject`."""
        novelty = self.model_.novelty
        share = USUAL_REJECT if self.reject is None else self.reject
        return -np.inf if novelty is None else novelty.offset(share)

    @per_row
    def novelty_function(self, X: ArrayLike) -> NDArray[Any]:
        """Return how well rows fit into the known classes; below 0 they are rejected.

        It is what `decision_function` is for scikit-learn's outlier detectors, a score minus
        `offset_`; a classifier's `decision_function` has another meaning. The score of a row
        is the negative mean of what speaks against it, each in standard deviations of known
        rows: its distance to the nearest prototype, small outputs of q(y|x), and a low bound on
        log p(x|y) of that class. If rows of no class were found among the unlabelled rows in
        `fit`, also its similarity to these.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        score : ndarray of shape (n,)
            One value per row. A share of `reject` of the rows of known classes (5% if it is
            None) is expected below 0.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = EquiVAEClassifier(latent_dim=2, reject=0.05, random_state=0).fit(X, y)
        >>> near, far = clf.novelty_function([X[0], 10 * X[0]])
        >>> bool(near > 0 > far)
        True
        >>> clf.predict([X[0], 10 * X[0]])
        array([ 0, -1])
        """
        rows = self._validate_rows(X)
        return self.model_.map(self.model_.novelty_scores, rows) - self.offset_

    def _labels(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the labels of codes; with `reject`, those of -1 are `rejected`."""
        if self.reject is None:
            return self.model_.classes[codes]
        # both parameters may have been set after `fit`
        check_marker(self.rejected, self.model_.classes, self.reject)
        return with_marker(self.model_.classes, codes, self.rejected)

    def _validate_rows(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError

"""What one can do with r and v apart, on both estimators.

The work is done by functions of the `FittedModel`, in `sk_equivae.generation`; here the
user's X and y are checked.
"""

from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .. import generation
from .labels import check_new_classes, encode_labels
from .representation import RepresentingEstimator


def make_generators(random_state: Any) -> tuple[np.random.RandomState, torch.Generator]:
    """Return generators of our own; for None with a seed from the system."""
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return rng, torch.Generator().manual_seed(int(rng.randint(np.iinfo(np.int32).max)))


def check_count(value: Any, name: str, least: int) -> int:
    """Return an int of at least `least`, or raise."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(
            f"{name} should be an int of at least {least}; got {value!r}. "
            f"Pass, for example, {name}={max(least, 8)}."
        )
    return int(value)


def check_pairs(first: str, A: NDArray[Any], second: str, B: NDArray[Any], hint: str = "") -> None:
    """Raise unless there are as many rows in B as in A."""
    if len(A) != len(B):
        raise ValueError(
            f"Expected as many rows in {second} as in {first}, which go in pairs; got "
            f"{len(A)} in {first} and {len(B)} in {second}. Repeat the rows of one.{hint}"
        )


class GenerativeEstimator(RepresentingEstimator):
    """Generation, style transfer, a bound on log p(x), and new classes."""

    def sample(
        self, n_samples: int | None = None, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """New rows: v as it is distributed within a class, decoded with the r of the class.

        Parameters
        ----------
        n_samples : int, default=None
            Number of rows. None: one per label of y, or one without y.
        y : label or array-like of shape (n_samples,), default=None
            The classes. Without it they are drawn from `class_prior_`.
        random_state : int, RandomState instance or None, default=None
            An int gives the same rows at each call. None: as the estimator's own
            `random_state`.

        Returns
        -------
        X : ndarray of shape (n_samples, *row_shape)
            Means of p(x | r_y, v), v ~ N(`v_mean_`, `v_covariance_`) of the class. For a class
            that came by `add_classes` v comes from its prior, N(0, I).
        y : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> rows, labels = clf.sample(y=[2, 0, 1], random_state=0)
        >>> rows.shape, labels
        ((3, 4), array([2, 0, 1]))
        """
        self._check_ready()
        if n_samples is None:
            n_samples = 1 if np.ndim(y) == 0 else len(y)
        n_samples = check_count(n_samples, "n_samples", 1)
        rng, generator = make_generators(
            self.random_state if random_state is None else random_state
        )
        if y is None:
            codes = generation.draw_classes(self.model_, n_samples, rng)
        else:
            codes = self._codes(y, n_samples)
            if (codes < 0).any():
                raise ValueError(
                    f"sample expects labels among {self.classes_.tolist()}; got the marker of "
                    f"unlabelled rows, {self.unlabeled!r}. Leave y out to draw the classes."
                )
        return generation.sample(self.model_, codes, generator), self.classes_[codes]

    def reconstruct(self, X: ArrayLike, y: Any = None) -> NDArray[Any]:
        """Rows encoded and decoded: r of their class, v the mean of q(v | r_y, x).

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
        y : label or array-like of shape (n,), optional
            Their classes. Without it, and where it says unlabelled, the predicted ones.

        Returns
        -------
        X : ndarray of shape (n, *row_shape)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> model.reconstruct(X[:3], y=[0, 0, -1]).shape  # the third by its predicted class
        (3, 4)
        """
        rows = self._validate_rows(X)
        codes = None if y is None else self._codes(y, len(rows))
        return generation.reconstruct(self.model_, rows, self.predict_with, codes)

    def interpolate(self, A: ArrayLike, B: ArrayLike, n_steps: int = 8) -> NDArray[Any]:
        """The ways from rows of A to rows of B, in even steps along v.

        r is that of the predicted class: it stays where it is between rows of the same
        class, and moves along with v between rows of two classes.

        Parameters
        ----------
        A, B : array-like of the shape seen in `fit`
            As many rows in B as in A.
        n_steps : int, default=8

        Returns
        -------
        X : ndarray of shape (n, n_steps, *row_shape)
            The first and last are the reconstructions of A and B.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> model.interpolate(X[:2], X[100:102], n_steps=5).shape
        (2, 5, 4)
        """
        n_steps = check_count(n_steps, "n_steps", 2)
        start, end = self._validate_rows(A), self._validate_rows(B)
        check_pairs("A", start, "B", end)
        return generation.interpolate(self.model_, start, end, n_steps, self.predict_with)

    def transfer_style(
        self, content: ArrayLike, style: ArrayLike, grid: bool = False
    ) -> NDArray[Any]:
        """Rows of the class of one row and the style of another: r of one, v of the other.

        Between two classes v is not taken as it is: what is usual in one class may be odd in
        the other. It keeps its place relative to the mean and covariance of v in its class.

        Parameters
        ----------
        content : array-like of the shape seen in `fit`
            Rows that give r, that of their predicted class.
        style : array-like of the shape seen in `fit`
            Rows that give v.
        grid : bool, default=False
            Pair every content with every style, instead of row by row.

        Returns
        -------
        X : ndarray of shape (n, *row_shape), or (n_content, n_style, *row_shape)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> model.transfer_style(X[:2], X[100:102]).shape
        (2, 4)
        >>> model.transfer_style(X[:2], X[100:103], grid=True).shape
        (2, 3, 4)
        """
        contents, styles = self._validate_rows(content), self._validate_rows(style)
        if not grid:
            check_pairs("content", contents, "style", styles, " Or set grid=True for all pairs.")
        return generation.transfer_style(self.model_, contents, styles, self.predict_with, grid)

    def score_samples(
        self, X: ArrayLike, n_importance: int = 16, random_state: Any = 0
    ) -> NDArray[Any]:
        r"""An importance-weighted bound on log p(x): low for rows unlike the training data.

        .. math:: \log p(x) \ge E \log \sum_y p(y) \frac{1}{S} \sum_{s=1}^S
                  \frac{p(x|r_y, v_{ys})\, p(v_{ys})}{q(v_{ys}|r_y, x)},
                  \qquad v_{ys} \sim q(v|r_y, x)

        It grows towards :math:`\log p(x)` with the number S of draws. The draws share
        their noise between rows, so that the value of a row does not depend on the
        others. Cost grows with S times the number of classes.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
        n_importance : int, default=16
            Draws S of v, for each row and class.
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        bound : ndarray of shape (n,)
            In nats; a density of the features as the networks see them (in [0, 1], or
            standardised), not in the units of X.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> near, far = model.score_samples([X[0], 10 * X[0]])
        >>> bool(near > far)
        True
        """
        rows = self._validate_rows(X)
        n_draws = check_count(n_importance, "n_importance", 1)
        return generation.score_samples(
            self.model_, rows, n_draws, make_generators(random_state)[1]
        )

    def add_classes(self, X: ArrayLike, y: Any) -> Self:
        """Learn classes never seen in training from a few rows of each, without training.

        A new class gets its r from the mean embedding of its rows, as the classes of
        `fit` did. How many rows are given says nothing about how frequent the class is:
        in `class_prior_` a new class is as frequent as the average class.

        q(y | x) and the decoder know the classes of training only. With `predict_with` other
        than "prototype" new classes have the probability that the prototypes give them, and
        what is left is divided among the classes of training by the rule. What is generated
        of a new class is the decoder's guess at it from its neighbours in r.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
        y : label or array-like of shape (n,)
            Labels that are not in `classes_`; a single one counts for all rows.

        Returns
        -------
        self : object
            With the new classes in `classes_`, which stays sorted. Training cannot go on
            from here: `partial_fit` and `warm_start` raise an error.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0)
        >>> clf.fit(X[y != 1], y[y != 1]).classes_
        array([0, 2])
        >>> clf.add_classes(X[50:55], y[50:55]).classes_
        array([0, 1, 2])
        """
        rows = self._validate_rows(X)
        codes, new = encode_labels([y] * len(rows) if np.ndim(y) == 0 else y, self.unlabeled)
        check_new_classes(codes, new, len(rows), self.classes_, self.unlabeled)
        self.model_ = generation.add_classes(self.model_, rows, codes, new)
        return self

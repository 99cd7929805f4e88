"""Generation, style transfer and new classes, for both estimators.

The methods check the user's X and y. The work is done by the functions of
`sk_equivae.generation`.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import generation
from .arguments import check_count, check_pairs, make_generators
from .blocks import per_row
from .labels import check_new_classes, encode_labels
from .rejection import check_marker
from .representation import RepresentingEstimator


class GenerativeEstimator(RepresentingEstimator):
    """Generation, style transfer, a bound on log p(x), and classes added after training."""

    def sample(
        self,
        n_samples: int | None = None,
        y: Any = None,
        random_state: Any = None,
        *,
        noise: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Generate new rows.

        v is drawn from its distribution within the class, N(`v_mean_`, `v_covariance_`), and
        decoded together with r_y. For a class that was added by `add_classes`, v is drawn from
        the prior N(0, I).

        Parameters
        ----------
        n_samples : int, default=None
            Number of rows; by default one per label of y, or a single one.
        y : label or array-like of shape (n_samples,), default=None
            The classes; by default they are drawn from `class_prior_`.
        random_state : int, RandomState instance or None, default=None
            Pass an int for the same rows in each call. None uses the `random_state` of the
            estimator.
        noise : bool, default=False
            Draw rows from p(x | r_y, v), for data of the spread of real ones. Its noise is
            independent between features: images are speckled. By default rows are means of
            p(x | r_y, v), and most probable categories.

        Returns
        -------
        X : ndarray of shape (n_samples, *row_shape), or DataFrame
            The rows. A frame of the same dtypes if `fit` was given one. Columns of a table that
            are constant in `fit` stay so. Columns of integers, also if their dtype is float,
            stay integers within their range in `fit`. Other numbers keep their sign if all had
            the same in `fit`. So do rows of the other methods that generate tables.
        y : ndarray of shape (n_samples,)
            Their classes.

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
        rows = generation.sample(self.model_, codes, generator, noise)
        return self._to_table(rows), self.classes_[codes]

    def reconstruct(self, X: ArrayLike, y: Any = None) -> NDArray[Any]:
        """Encode and decode rows, with the mean of q(v | r_y, x) as v.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.
        y : label or array-like of shape (n,), default=None
            Their classes. By default, and for unlabelled rows, the predicted classes are used.

        Returns
        -------
        X : ndarray of shape (n, *row_shape), or DataFrame
            The reconstructed rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> model.reconstruct(X[:3], y=[0, 0, -1]).shape  # predicts the class of the third
        (3, 4)
        """
        rows = self._validate_rows(X)
        codes = None if y is None else self._codes(y, len(rows))
        return self._to_table(generation.reconstruct(self.model_, rows, self.predict_with, codes))

    def interpolate(self, A: ArrayLike, B: ArrayLike, n_steps: int = 8) -> NDArray[Any]:
        """Interpolate between rows of A and rows of B in the latent space.

        v moves in even steps from that of the row of A to that of the row of B, and so does r_y
        of the predicted class. Between rows of the same class r_y is constant.

        Parameters
        ----------
        A, B : array-like of the shape seen in `fit`
            The first and the last rows; the same number in both.
        n_steps : int, default=8
            Number of rows on each path, including both ends.

        Returns
        -------
        X : ndarray of shape (n, n_steps, *row_shape), or DataFrame of n * n_steps rows
            One path per pair of rows. It starts with the reconstruction of the row of A and ends
            with that of the row of B. A frame has one path after the other.

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
        paths = generation.interpolate(self.model_, start, end, n_steps, self.predict_with)
        return self._to_table(paths)

    def transfer_style(
        self,
        content: ArrayLike,
        style: ArrayLike,
        grid: bool = False,
        *,
        noise: bool = False,
        random_state: Any = None,
    ) -> NDArray[Any]:
        """Generate rows with the class of one row and the style of another.

        r_y is that of the content and v that of the style. A style that is usual in one class
        may be unusual in another. So, if the classes differ, v is standardised with `v_mean_` and
        `v_covariance_` of its own class, and scaled back with those of the class of the content.

        Parameters
        ----------
        content : array-like of the shape seen in `fit`
            Rows whose predicted class determines r_y.
        style : array-like of the shape seen in `fit`
            Rows that determine v.
        grid : bool, default=False
            Combine every content with every style, instead of row by row.
        noise : bool, default=False
            Draw rows from p(x | r_y, v), instead of its mean; see `sample`.
        random_state : int, RandomState instance or None, default=None
            Determines the draws. None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n, *row_shape), or (n_content, n_style, *row_shape)
            The generated rows; the second shape is for `grid=True`. A frame has the rows of
            one content after those of the other.

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
        seed = self.random_state if random_state is None else random_state
        generator = make_generators(seed)[1] if noise else None
        rows = generation.transfer_style(
            self.model_, contents, styles, self.predict_with, grid, generator
        )
        return self._to_table(rows)

    @per_row
    def score_samples(
        self, X: ArrayLike, n_importance: int = 16, random_state: Any = 0
    ) -> NDArray[Any]:
        r"""Return a lower bound on log p(x), which is low for rows unlike the training data.

        .. math:: \log p(x) \ge E \log \sum_y p(y) \frac{1}{S} \sum_{s=1}^S
                  \frac{p(x|r_y, v_{ys})\, p(v_{ys})}{q(v_{ys}|r_y, x)},
                  \qquad v_{ys} \sim q(v|r_y, x)

        This importance-weighted bound approaches :math:`\log p(x)` as the number S of samples
        grows. The time grows with S times the number of classes. All rows share the same random
        numbers, so that the value of a row does not depend on the other rows.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.
        n_importance : int, default=16
            Number S of samples of v per row and class.
        random_state : int, RandomState instance or None, default=0
            Determines the samples of v.

        Returns
        -------
        bound : ndarray of shape (n,)
            The bound in nats, one value per row. It refers to normalised features (in [0, 1] or
            standardised), not to the units of X.

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
        """Add classes from a few rows of each, without training.

        r_y of a new class is computed from the mean embedding of its rows, as for the classes of
        `fit`. In `class_prior_` a new class is as frequent as the average class, however many
        rows are given.

        q(y | x) and the decoder were trained without the new classes. If `predict_with` is not
        "prototype", new classes still get the probability that the "prototype" rule gives them,
        and the chosen rule divides the rest among the classes of training. Rows that are
        generated for a new class resemble classes with a similar r_y.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            Rows of the new classes.
        y : label or array-like of shape (n,)
            Their labels, which must not be in `classes_`; a single label applies to all rows.

        Returns
        -------
        self : object
            The estimator with the new classes in `classes_`, which stays sorted. It cannot be
            trained further: `partial_fit` and `fit` with `warm_start=True` raise an error.

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
        check_marker(self.rejected, new, self.reject)
        self.model_ = generation.add_classes(self.model_, rows, codes, new)
        return self

"""`impute` of both estimators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import imputation
from .arguments import check_count, make_generators
from .frames import fill_frame, frame_library
from .generative import GenerativeEstimator
from .tables import to_table


class ImputingEstimator(GenerativeEstimator):
    """Missing values filled in."""

    def impute(self, X: ArrayLike, n_draws: int | None = None, random_state: Any = None) -> Any:
        """Fill in the missing values of tabular rows, given the observed ones.

        By default a missing number is the expected one, and a missing category the most
        probable one: p(x|r_y,v) at the mean of q(v|r_y,x), averaged over the classes by their
        probability. For multiple imputation, `n_draws` tables are filled with values that are
        drawn: a class, then v, then the values. Columns stay integer, non-negative or constant,
        as in `sample`. Observed values are returned as they
        are, also categories that were not in `fit`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows of a table.
        n_draws : int, default=None
            Number of tables with drawn values; by default a single table of expected values.
        random_state : int, RandomState instance or None, default=None
            Determines the draws. None uses the `random_state` of the estimator.

        Returns
        -------
        X : array-like of shape (n, n_features), or list of them
            The rows without missing values: a frame of the dtypes of X, or of wider ones where
            these do not hold the new values, or an array. With `n_draws` a list of these. A
            column that had no value in `fit` stays missing.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X[::7, 2] = np.nan
        >>> clf = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> bool(np.isnan(clf.impute(X)).any())
        False
        >>> len(clf.impute(X, n_draws=5))
        5
        """
        rows = self._validate_rows(X)
        if self.model_.rows.is_image:
            raise ValueError(
                "impute expects tabular rows; got an estimator of images, which have no missing "
                "values. Use `reconstruct`."
            )
        if n_draws is None:
            return self._fill(X, rows, imputation.impute(self.model_, rows, self.predict_with))
        n_draws = check_count(n_draws, "n_draws", 1)
        seed = self.random_state if random_state is None else random_state
        generator = make_generators(seed)[1]
        return [
            self._fill(X, rows, imputation.draw(self.model_, rows, self.predict_with, generator))
            for _ in range(n_draws)
        ]

    def _fill(self, X: Any, rows: NDArray[Any], filled: NDArray[Any]) -> Any:
        """Return the user's table with its missing values taken from filled rows."""
        columns = self.model_.rows.columns
        if columns is not None and frame_library(X) is not None and columns.library is not None:
            return fill_frame(X, filled, columns)
        if columns is None or not columns.has_categories:
            return filled
        given = np.asarray(X, dtype=rows.dtype)
        return np.where(np.isnan(given), to_table(filled, columns), given)

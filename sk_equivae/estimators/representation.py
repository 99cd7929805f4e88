"""`transform` and `inverse_transform` of both estimators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from ..fitted.model import Codes
from .base import BaseEquiVAE
from .blocks import per_row
from .labels import encode_labels
from .tables import to_table


class RepresentingEstimator(BaseEquiVAE):
    """Representations of rows, and rows from representations."""

    @per_row
    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the representation of each row.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            For `representation="invariant"`, f_inv(x). For "equivariant", v: the mean of
            q(v | r_y, x) at the predicted class. For "both", f_inv(x) and v side by side.
        """
        rows, model = self._validate_rows(X), self.model_
        if self.representation == "invariant":
            return model.f_inv(rows)
        _, v = model.latents(rows, self.predict_with)
        if self.representation == "equivariant":
            return v
        return np.concatenate([model.f_inv(rows), v], axis=1)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: r0, r1, ... and v0, v1, ...

        Parameters
        ----------
        input_features : object, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        feature_names_out : ndarray of str objects
            One name per column.
        """
        self._check_ready()
        n_r, n_v = self.model_.module.n_latents
        r, v = [f"r{i}" for i in range(n_r)], [f"v{i}" for i in range(n_v)]
        names = {"invariant": r, "equivariant": v, "both": r + v}[self.representation]
        return np.asarray(names, dtype=object)

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Decode representations that `transform` returned.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            For `representation="both"`, r and v side by side. For "invariant", r, which is
            decoded with v = 0. "equivariant" cannot be inverted, since v does not contain the
            class.

        Returns
        -------
        X : ndarray of shape (n, *row_shape), or DataFrame
            The decoded rows, in the units of X in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
        >>> both = model.set_params(representation="both").transform(X)
        >>> model.inverse_transform(both).shape
        (150, 4)
        """
        self._check_ready()
        n_r, n_v = self.model_.module.n_latents
        if self.representation == "equivariant":
            raise ValueError(
                "inverse_transform expects representation='both' or 'invariant'; got "
                "'equivariant', which does not hold the class of a row. Use "
                "`set_params(representation='both')` and transform again."
            )
        latents = check_array(X, dtype=(np.float64, np.float32))
        expected = n_r + n_v if self.representation == "both" else n_r
        if latents.shape[1] != expected:
            raise ValueError(
                f"inverse_transform expects {expected} columns for representation="
                f"{self.representation!r} and latent_dim={self.latent_dim!r}; got "
                f"{latents.shape[1]}. Pass what `transform` gave with the same representation."
            )
        v = latents[:, n_r:] if self.representation == "both" else np.zeros((len(latents), n_v))
        return self._to_table(self.model_.decode(latents[:, :n_r], v))

    def _to_table(self, rows: NDArray[Any]) -> Any:
        """Return generated rows as a frame if `fit` was given one."""
        return to_table(rows, self.model_.rows.columns)

    def _codes(self, y: Any, n_rows: int) -> Codes:
        """Return the codes of one label for all rows, or of one label per row; -1 if unlabelled."""
        if np.ndim(y) == 0:
            y = [y] * n_rows
        remedy = "Pass labels that are in `classes_`."
        codes, _ = encode_labels(y, self.unlabeled, self.classes_, remedy)
        if len(codes) != n_rows:
            raise ValueError(
                f"Expected y to be one label or {n_rows} labels, one per row; got {len(codes)}. "
                "Pass as many labels as rows."
            )
        unseen = ~self.model_.has_prototype[codes] & (codes >= 0)
        if unseen.any():
            raise ValueError(
                f"Expected classes with rows seen in training; got "
                f"{np.unique(self.classes_[codes[unseen]]).tolist()}, announced in `partial_fit` "
                "without a row so far. Call `partial_fit` with rows of them first."
            )
        return codes

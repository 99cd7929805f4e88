"""`transform` and `inverse_transform` of both estimators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances_argmin
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
            For `representation="invariant"`, f_inv(x). For "equivariant", v relative to the
            predicted class: the mean of q(v | r_y, x), mapped so that it has a standard normal
            distribution in each class; 0 in dimensions that the decoder does not use. For "both",
            f_inv(x) and v relative to its class, side by side. For "latent", r_y of the
            predicted class and the mean of q(v | r_y, x), as the decoder takes them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAETransformer
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAETransformer(latent_dim=(3, 2), max_epochs=1, random_state=0).fit(X, y)
        >>> model.transform(X).shape
        (150, 3)
        >>> model.set_params(representation="equivariant").transform(X).shape
        (150, 2)
        """
        rows, model = self._validate_rows(X), self.model_
        if self.representation == "invariant":
            return model.f_inv(rows)
        codes, v = model.latents(rows, self.predict_with)
        if self.representation == "latent":
            return np.concatenate([model.r(codes), v], axis=1)
        relative = model.relative.forward(v, codes).astype(v.dtype)
        if self.representation == "equivariant":
            return relative
        return np.concatenate([model.f_inv(rows), relative], axis=1)

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
        names = {"invariant": r, "equivariant": v}.get(self.representation, r + v)
        return np.asarray(names, dtype=object)

    def inverse_transform(self, X: ArrayLike, y: Any = None) -> NDArray[Any]:
        """Decode representations that `transform` returned.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Representations, as `transform` returns them for the same `representation`. For
            "invariant", v is the usual one of the class.
        y : object or array-like of shape (n,), default=None
            Classes of the rows, or one class for all rows. By default the class is that of the
            nearest prototype. Needed for "equivariant", where r_y is that of the class, since v
            does not tell it; not used for "latent".

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
        >>> v = model.set_params(representation="equivariant").transform(X)
        >>> model.inverse_transform(v, y=2).shape  # all rows as if they were of class 2
        (150, 4)
        """
        self._check_ready()
        (n_r, n_v), model = self.model_.module.n_latents, self.model_
        latents = check_array(X, dtype=(np.float64, np.float32))
        expected = len(self.get_feature_names_out())
        if latents.shape[1] != expected:
            raise ValueError(
                f"inverse_transform expects {expected} columns for representation="
                f"{self.representation!r} and latent_dim={self.latent_dim!r}; got "
                f"{latents.shape[1]}. Pass what `transform` gave with the same representation."
            )
        if self.representation == "latent":
            return self._to_table(model.decode(latents[:, :n_r], latents[:, n_r:]))
        codes = self._given_or_nearest(latents, y)
        if self.representation == "equivariant":
            return self._to_table(
                model.decode(model.r(codes), model.relative.backward(latents, codes))
            )
        usual = np.zeros((len(latents), n_v))
        u = latents[:, n_r:] if self.representation == "both" else usual
        return self._to_table(model.decode(latents[:, :n_r], model.relative.backward(u, codes)))

    def _given_or_nearest(self, latents: NDArray[Any], y: Any) -> Codes:
        """Return the codes of `y`, or of the prototypes next to the invariant part."""
        given = np.full(len(latents), -1) if y is None else self._codes(y, len(latents))
        if (given >= 0).all():
            return given
        if self.representation == "equivariant":
            raise ValueError(
                "inverse_transform expects y, one class for all rows or one per row, for "
                "representation='equivariant', since v does not tell the class; got "
                f"{'none' if y is None else 'rows without a label'}. Pass y, or use "
                "`set_params(representation='both')` and transform again."
            )
        known = np.flatnonzero(self.model_.has_prototype)
        n_r = self.model_.module.n_latents[0]
        nearest = pairwise_distances_argmin(latents[:, :n_r], self.model_.prototypes[known])
        return np.where(given >= 0, given, known[nearest])

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

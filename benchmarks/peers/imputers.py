"""scikit-learn's imputers on tables with categories: one-hot, and the largest one wins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import StandardScaler


class OneHotImputer(TransformerMixin, BaseEstimator):
    """Standardised numbers and one-hot categories, imputed; and back."""

    def __init__(self, imputer: Any = None, categorical_features: Any = None):
        self.imputer, self.categorical_features = imputer, categorical_features

    def fit(self, X: NDArray, y: Any = None) -> "OneHotImputer":
        mask = np.asarray(self.categorical_features)
        known = [np.unique(column[~np.isnan(column)]) for column in X.T]
        self.categories_ = [k if m else None for k, m in zip(known, mask, strict=True)]
        self.scaler_ = StandardScaler().fit(X[:, ~mask]) if (~mask).any() else None
        self.imputer_ = clone(self.imputer).fit(self._encode(X))
        return self

    def _encode(self, X: NDArray) -> NDArray:
        X = X.copy()
        mask = np.asarray(self.categorical_features)
        if self.scaler_ is not None:
            X[:, ~mask] = self.scaler_.transform(X[:, ~mask])
        parts = [
            x[:, None] if known is None
            else np.where(np.isnan(x)[:, None], np.nan, x[:, None] == known)
            for x, known in zip(X.T, self.categories_, strict=True)
        ]  # fmt: skip
        return np.concatenate(parts, axis=1)

    def transform(self, X: NDArray) -> NDArray:
        filled, made, start = self.imputer_.transform(self._encode(X)), X.copy(), 0
        for i, known in enumerate(self.categories_):
            block = filled[:, start : start + (1 if known is None else len(known))]
            made[:, i] = block[:, 0] if known is None else known[block.argmax(axis=1)]
            start += block.shape[1]
        mask = np.asarray(self.categorical_features)
        if self.scaler_ is not None:
            made[:, ~mask] = self.scaler_.inverse_transform(made[:, ~mask])
        return np.where(np.isnan(X), made, X)

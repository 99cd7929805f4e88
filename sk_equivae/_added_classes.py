"""`AddedClassesMixin`: classes that come after training."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ._batches import OrderedBatches, RowDataset
from ._device import to_device
from ._labels import encode_labels
from ._prototypes import ClassMeans
from ._styles import prior_moments
from ._training import INFERENCE_BATCH

if TYPE_CHECKING:
    from ._inputs import InputSpec
    from ._module import EquiVAEModule

# Labels of different groups cannot stand in one sorted array of classes.
LABEL_KINDS = {"b": "bool", "i": "numbers", "u": "numbers", "f": "numbers"}


class AddedClassesMixin:
    """Prototypes for classes never seen in training."""

    if TYPE_CHECKING:  # what `BaseEquiVAE` provides
        latent_dim: Any
        representation: str
        unlabeled: Any
        classes_: NDArray
        class_count_: NDArray
        class_prior_: NDArray
        prototypes_: NDArray
        v_mean_: NDArray
        v_covariance_: NDArray
        _class_embeddings: Tensor
        _trained: NDArray
        _spec: InputSpec

        @property
        def _module(self) -> EquiVAEModule: ...
        def _tensor(self, values: ArrayLike) -> Tensor: ...
        def _class_logits(self, x: Tensor) -> Tensor: ...
        def _validate_rows(self, X: Any) -> NDArray: ...
        def _head(self, embeddings: Tensor) -> NDArray: ...

    def add_classes(self, X: ArrayLike, y: ArrayLike):
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
        y : array-like of shape (n,)
            Labels that are not in `classes_`.

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
        codes, new = encode_labels(y, self.unlabeled)
        self._check_new_classes(codes, new, len(rows))
        module = self._module
        means = ClassMeans(len(new), module.invariant.dense.out_features)
        data = RowDataset(rows, self._spec.input_shape, codes)
        with torch.inference_mode():
            for x, code in self._normalized(data, INFERENCE_BATCH):
                means.update(module.invariant.embed(x), code, torch.ones(len(x)))

        n_old, n_all = len(self.classes_), len(self.classes_) + len(new)
        classes = np.concatenate([self.classes_, new])
        if self.classes_.dtype.kind in "iu" and classes.dtype.kind == "f":
            classes = classes.astype(np.int64)  # the labels 8.0 and 9.0 beside 0, ..., 7
        order = np.argsort(classes, kind="stable")
        count = np.concatenate([self.class_count_, np.bincount(codes).astype(np.float64)])
        prior = np.concatenate(
            [self.class_prior_ * n_old / n_all, np.full(len(new), self.class_prior_.sum() / n_all)]
        )
        embeddings = torch.cat([self._class_embeddings, means.means.to(self._class_embeddings)])
        self._class_embeddings = embeddings[torch.from_numpy(order)]
        self.classes_, self.class_count_, self.class_prior_ = (
            classes[order], count[order], prior[order],
        )  # fmt: skip
        moments = prior_moments(len(new), self.v_mean_.shape[1])
        self.v_mean_ = np.concatenate([self.v_mean_, moments[0]])[order]
        self.v_covariance_ = np.concatenate([self.v_covariance_, moments[1]])[order]
        self._trained = np.argsort(order)[:n_old][self._trained]
        self.prototypes_ = self._head(self._class_embeddings)
        return self

    def _check_new_classes(self, codes: NDArray, new: NDArray, n_rows: int) -> None:
        if len(codes) != n_rows:
            raise ValueError(
                f"add_classes expects a label for each row; got {n_rows} rows of X and "
                f"{len(codes)} of y: inconsistent numbers of samples."
            )
        if (codes < 0).any():
            raise ValueError(
                f"add_classes expects a label for each row; got {(codes < 0).sum()} rows marked "
                f"unlabelled ({self.unlabeled!r}). Leave them out."
            )
        kinds = [LABEL_KINDS.get(a.dtype.kind, "strings or objects") for a in (self.classes_, new)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"add_classes expects labels of the type of classes_ ({kinds[0]}); got {kinds[1]}: "
                f"{new.tolist()}. Convert y, or fit with labels of that type."
            )
        known = set(self.classes_.tolist()).intersection(new.tolist())
        if known:
            raise ValueError(
                f"add_classes expects labels that are not in classes_; got "
                f"{sorted(known, key=str)}, which are known already. Leave their rows out, or use "
                "`partial_fit` or `fit` to learn from more rows of a known class."
            )

    def _check_can_go_on(self) -> None:
        """Training goes on with the classes it started with."""
        if len(self._trained) < len(self.classes_):
            added = np.delete(self.classes_, self._trained).tolist()
            raise ValueError(
                f"Training can go on only with the classes it started with; {added} came by "
                "`add_classes` after it, and q(y | x) has no output for them. Call `fit` with "
                "warm_start=False on rows of all classes."
            )

    def _normalized(self, data: RowDataset, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches of normalised rows, and their codes on the CPU."""
        module = self._module
        for x, code, _ in OrderedBatches(data, size):
            yield module.normalize(to_device(x, module.scale)), code

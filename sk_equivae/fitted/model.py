"""`FittedModel`: the result of training, with all that is needed after `fit`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..model.module import EquiVAEModule
from ..model.rules import class_logits
from .loop import BATCH_SIZE, map_batches
from .rows import NormalizedRows, RowSpec
from .threads import compute_threads

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The trained networks, the classes, and the shape and scaling of rows. Immutable.

    Attributes
    ----------
    module : EquiVAEModule
        The networks that predict, in eval mode.
    rows : RowSpec
        Shape and scaling of rows.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count : ndarray of shape (n_classes,)
        Total weight of the labelled rows per class.
    class_prior : ndarray of shape (n_classes,)
        Class probabilities p(y).
    class_embeddings : ndarray of shape (n_classes, n_hidden)
        Mean embeddings, from which r_y is computed; NaN for a class without rows.
    prototypes : ndarray of shape (n_classes, n_invariant)
        r_y of each class; NaN for a class without rows.
    v_mean, v_covariance : ndarray of shape (n_classes, n_equivariant[, n_equivariant])
        Mean and covariance of v within each class.
    trained : ndarray of int
        Positions in `classes` of the classes of training; the others were added later.
    """

    module: EquiVAEModule = field(repr=False)
    rows: RowSpec
    classes: NDArray[Any]
    class_count: NDArray[np.float64]
    class_prior: NDArray[np.float64]
    class_embeddings: NDArray[np.float64] = field(repr=False)
    prototypes: NDArray[np.floating] = field(repr=False)
    v_mean: NDArray[np.floating] = field(repr=False)
    v_covariance: NDArray[np.floating] = field(repr=False)
    trained: Codes = field(repr=False)

    # ---------------------------------------------------------------- rows

    def map(
        self,
        function: Callable[..., Any],
        X: NDArray[Any],
        *columns: NDArray[Any],
        rows: NDArray[np.intp] | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> Any:
        """Apply a function to normalised rows of X and to other columns.

        Parameters
        ----------
        function : callable
            See `map_batches`. Its first argument is a batch of normalised rows.
        X : ndarray of shape (n, n_features)
            The rows.
        *columns : ndarray
            Further arguments of the function, one entry per row.
        rows : ndarray of int, optional
            Positions of the rows of X to use; all by default.
        batch_size : int, default=1024
            Rows per batch.

        Returns
        -------
        values : ndarray, tuple of ndarray or None
            The values of the function for all rows.
        """
        like = self.module.like
        normalized = NormalizedRows(X, self.rows, like, rows)
        with compute_threads(self.rows):
            return map_batches(function, normalized, *columns, like=like, batch_size=batch_size)

    def tensor(self, values: ArrayLike) -> Tensor:
        """Return values as a float tensor on the device of the networks."""
        like = self.module.like
        return torch.as_tensor(np.asarray(values), dtype=like.dtype, device=like.device)

    # ---------------------------------------------------------------- classes

    @property
    def has_prototype(self) -> NDArray[np.bool_]:
        """Whether a class has an r_y, one value per class."""
        return ~np.isnan(self.prototypes).any(axis=1)

    def class_logits(self, x: Tensor, rule: str) -> Tensor:
        """Return unnormalised class log-probabilities of normalised rows, in float64 on the CPU."""
        with np.errstate(divide="ignore"):
            log_prior = self.tensor(np.log(self.class_prior))
        prototypes, trained = self.tensor(self.prototypes), torch.from_numpy(self.trained)
        return class_logits(self.module, x, prototypes, log_prior, rule, trained)

    def logits(
        self, X: NDArray[Any], rule: str, rows: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Return unnormalised class log-probabilities, of shape (n, n_classes)."""
        return self.map(lambda x: self.class_logits(x, rule), X, rows=rows)

    def predict_codes(
        self, X: NDArray[Any], rule: str, rows: NDArray[np.intp] | None = None
    ) -> Codes:
        """Return the code of the most probable class, one per row."""
        return self.map(lambda x: self.class_logits(x, rule).argmax(dim=1), X, rows=rows)

    def fill_codes(self, X: NDArray[Any], codes: Codes, rule: str) -> Codes:
        """Return a copy of `codes` with every -1 replaced by the predicted code."""
        codes = codes.copy()
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            codes[missing] = self.predict_codes(X, rule, rows=missing)
        return codes

    # ---------------------------------------------------------------- latents

    def r(self, codes: Codes) -> NDArray[np.floating]:
        """Return r_y, one row per code."""
        return self.prototypes[codes]

    def f_inv(self, X: NDArray[Any]) -> NDArray[np.floating]:
        """Return the invariant representation f_inv(x), one per row."""
        return self.map(self.module.f_inv, X)

    def latents(
        self, X: NDArray[Any], rule: str, codes: Codes | None = None
    ) -> tuple[Codes, NDArray[np.floating]]:
        """Return the codes of rows, and the means of q(v | r_y, x) at these classes.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            The rows.
        rule : {"prototype", "posterior", "likelihood"}
            How classes are predicted.
        codes : ndarray of shape (n,), optional
            Class codes; where -1, and by default, the predicted code is used.

        Returns
        -------
        codes : ndarray of shape (n,)
            The given or predicted codes.
        v : ndarray of shape (n, n_equivariant)
            The means of q(v | r_y, x).
        """
        prototypes = self.tensor(self.prototypes)
        if codes is None:
            codes = np.full(len(X), -1)

        def encode(x: Tensor, code: Tensor) -> tuple[Tensor, Tensor]:
            if bool((code < 0).any()):
                predicted = self.class_logits(x, rule).argmax(dim=1).to(code.device)
                code = torch.where(code < 0, predicted, code)
            return code, self.module.encode(x, prototypes[code]).mean

        return self.map(encode, X, codes)

    def decode(
        self, r: NDArray[np.floating], v: NDArray[np.floating], batch_size: int = BATCH_SIZE
    ) -> NDArray[Any]:
        """Return the mean of p(x | r, v) in the shape, units and dtype of the user's X."""

        def rows(r: Tensor, v: Tensor) -> NDArray[Any]:
            return self.rows.denormalize(self.module.decode(r, v).mean)

        with compute_threads(self.rows):
            return map_batches(rows, r, v, like=self.module.like, batch_size=batch_size)

    # ---------------------------------------------------------------- copies

    def replace(self, **changes: Any) -> "FittedModel":
        """Return a copy with some attributes changed."""
        return replace(self, **changes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state as NumPy arrays, independent of the device."""
        module = self.module
        weights = {name: value.cpu().numpy() for name, value in module.state_dict().items()}
        built_from = {
            "input_shape": module.input_shape,
            "n_classes": module.n_classes,
            "n_latents": module.n_latents,
            "likelihood": module.likelihood,
            "sizes": module.sizes,
            "layout": module.layout,
        }
        return {**vars(self), "module": built_from, "weights": weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        module = EquiVAEModule(**state["module"])
        weights = {name: torch.from_numpy(value) for name, value in state["weights"].items()}
        module.to(weights["decoder.log_scale"].dtype).load_state_dict(weights)
        fields = {name: value for name, value in state.items() if name != "weights"}
        self.__dict__.update(fields, module=for_inference(module))


def for_inference(module: EquiVAEModule) -> EquiVAEModule:
    """Return the module in eval mode and without gradients; for images with channels last."""
    if len(module.input_shape) == 3:
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return module.eval().requires_grad_(False)

"""`FittedModel`: the result of training, with all that is needed after `fit`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..model.distributions import ClassNormal
from ..model.module import EquiVAEModule
from ..model.rules import (
    RULES,
    Scaling,
    Styles,
    class_logits,
    mixed_with_prior,
    terms_by_class,
    to_float64,
)
from .compact import Positions, code_dtype
from .loop import BATCH_SIZE, map_batches
from .novelty import Novelty, statistics
from .region import Region
from .relative import RelativeStyles
from .rows import NormalizedRows, RowSpec
from .threads import compute_threads

Codes = NDArray[np.integer[Any]]
# How much a row far from those of training loses of its score, in standard deviations.
FAR = 20.0


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
    kl_v : ndarray of shape (n_equivariant,)
        Mean of KL[q(v | r_y, x) || p(v)] per dimension of v.
    relative : RelativeStyles
        The maps between v and v relative to its class.
    class_weight : ndarray of shape (n_classes,) or None
        Weights of the classes, by which probabilities are multiplied that do not come from
        q(y | x): it has learnt them.
    temperature : mapping of str to float
        For each rule, the number that unnormalised log-probabilities are divided by.
    style_weight : float or None
        Weight of the divergence from p(v|y) in the likelihood rule; see `rules.bound_by_class`.
        With None the rule goes by p(v), as in the paper.
    region : Region or None
        Where the training rows are; None if probabilities do not depend on it.
    novelty : Novelty or None
        By which scores rows of known classes are recognised.
    background : ndarray of shape (n_background, n_invariant)
        Prototypes of unlabelled rows that belong to no class. q(y | x) has outputs for them
        after those of the classes.
    background_prior : float
        Share of such rows among the rows of training.
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
    kl_v: NDArray[np.floating] = field(repr=False)
    relative: RelativeStyles = field(repr=False)
    class_weight: NDArray[np.float64] | None = field(default=None, repr=False)
    temperature: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(RULES, 1.0))
    style_weight: float | None = None
    region: Region | None = field(default=None, repr=False)
    novelty: Novelty | None = field(default=None, repr=False)
    background: NDArray[np.floating] = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    background_prior: float = 0.0

    # ---------------------------------------------------------------- rows

    def map(
        self,
        function: Callable[..., Any],
        X: NDArray[Any],
        *columns: NDArray[Any],
        rows: Positions | None = None,
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

    def with_background(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return r_y, log p(y) and positions of the trained outputs, those of no class last.

        log p(y) includes the weights of the classes, since predictions by the bound go by them.
        """
        n_background, n_classes = len(self.background), len(self.classes)
        weight = 1.0 if self.class_weight is None else self.class_weight
        prior = np.append(
            (1 - self.background_prior) * self.class_prior * weight,
            np.full(n_background, self.background_prior / max(1, n_background)),
        )
        with np.errstate(divide="ignore"):
            log_prior = self.tensor(np.log(prior))
        prototypes = self.prototypes
        if n_background:
            prototypes = np.concatenate([prototypes, self.background])
        trained = np.append(self.trained, n_classes + np.arange(n_background))
        return self.tensor(prototypes), log_prior, torch.from_numpy(trained)

    def class_logits(self, x: Tensor, rule: str) -> Tensor:
        """Return unnormalised class log-probabilities of normalised rows, in float64 on the CPU."""
        prototypes, log_prior, trained = self.with_background()
        scaling = self.scaling(rule)
        styles = self.styles if rule == "likelihood" else None
        return class_logits(self.module, x, prototypes, log_prior, rule, trained, scaling, styles)

    @property
    def styles(self) -> Styles | None:
        """What the likelihood rule knows of v in the classes of training; None if nothing."""
        return None if self.style_weight is None else Styles(self.p_v, self.style_weight)

    @property
    def p_v(self) -> ClassNormal:
        """p(v|y) of the classes of training, by their moments; p(v) for rows of no class."""
        n_background, d = len(self.background), self.module.n_latents[1]
        mean = np.concatenate([self.v_mean[self.trained], np.zeros((n_background, d))])
        unit = np.tile(np.eye(d), (n_background, 1, 1))
        covariance = np.concatenate([self.v_covariance[self.trained], unit])
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        return ClassNormal(self.tensor(mean), self.tensor(whitening))

    def likelihood_terms(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return log p(x|r_y,v) + log p(y), and KL[q(v|r_y,x) || p(v|y)].

        One value per row and class, in float64 and on the CPU, for models whose classes all are
        classes of training.
        """
        n_classes = len(self.classes)
        prototypes, log_prior, _ = self.with_background()
        terms = terms_by_class(self.module, x, prototypes.nan_to_num(), self.p_v)
        density = to_float64(terms.reconstruction + log_prior)[:, :n_classes]
        missing = torch.from_numpy(~self.has_prototype)
        return density.masked_fill(missing, -torch.inf), to_float64(terms.kl_v)[:, :n_classes]

    def scaling(self, rule: str) -> Scaling:
        """Return the weights of the classes, and the temperatures of the prototypes and a rule."""
        weight = np.ones(len(self.classes)) if self.class_weight is None else self.class_weight
        log_weight = torch.from_numpy(np.log(weight))
        return Scaling(log_weight, self.temperature["prototype"], self.temperature[rule])

    def probabilities(self, x: Tensor, logits: Tensor) -> Tensor:
        """Return class probabilities; those of rows far from training are close to the prior.

        Parameters
        ----------
        x : Tensor of shape (n, *input_shape)
            Normalised rows.
        logits : Tensor of shape (n, n_classes)
            Their unnormalised log-probabilities.

        Returns
        -------
        p : Tensor of shape (n, n_classes)
            Probabilities, in float64 on the CPU. The most probable class is that of the logits.
        """
        p = logits.softmax(dim=1)
        if self.region is None:
            return p
        return mixed_with_prior(p, torch.from_numpy(self.class_prior), self.region.outlying(x))

    def novelty_scores(self, x: Tensor) -> Tensor:
        """Return scores of normalised rows, low for rows of no known class; NaN without any."""
        if self.novelty is None:
            return torch.full((len(x),), torch.nan, dtype=torch.float64)
        prototypes, _, trained = self.with_background()
        found = statistics(self.module, x, prototypes, trained, len(self.background))
        score = self.novelty.score(found)
        return score if self.region is None else score - FAR * self.region.outlying(x)

    def is_novel(self, x: Tensor, reject: float) -> Tensor:
        """Return whether normalised rows belong to no class, where a share of known rows does."""
        if self.novelty is None:
            return torch.zeros(len(x), dtype=torch.bool)
        return self.novelty_scores(x) < self.novelty.offset(reject)

    def logits(
        self, X: NDArray[Any], rule: str, rows: Positions | None = None
    ) -> NDArray[np.float64]:
        """Return unnormalised class log-probabilities, of shape (n, n_classes)."""
        return self.map(lambda x: self.class_logits(x, rule), X, rows=rows)

    def predict_proba(
        self, X: NDArray[Any], rule: str, rows: Positions | None = None
    ) -> NDArray[np.float64]:
        """Return class probabilities, of shape (n, n_classes)."""
        return self.map(lambda x: self.probabilities(x, self.class_logits(x, rule)), X, rows=rows)

    def predict_log_proba(self, X: NDArray[Any], rule: str) -> NDArray[np.float64]:
        """Return log-probabilities of the classes, exact where probabilities are tiny."""

        def log_p(x: Tensor) -> Tensor:
            logits = self.class_logits(x, rule)
            exact, p = logits.log_softmax(dim=1), self.probabilities(x, logits)
            return torch.where(p == logits.softmax(dim=1), exact, p.log())

        return self.map(log_p, X)

    def predict_codes(self, X: NDArray[Any], rule: str, reject: float | None = None) -> Codes:
        """Return the code of the most probable class, one per row; -1 if the row is rejected."""
        dtype = code_dtype(len(self.classes))

        def predict(x: Tensor) -> Codes:
            code = self.class_logits(x, rule).argmax(dim=1)
            if reject is not None:
                code = code.masked_fill(self.is_novel(x, reject), -1)
            return code.numpy().astype(dtype)

        return self.map(predict, X)

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
        self,
        r: NDArray[np.floating],
        v: NDArray[np.floating],
        batch_size: int = BATCH_SIZE,
        generator: torch.Generator | None = None,
    ) -> NDArray[Any]:
        """Return rows of p(x | r, v) in the shape, units and dtype of the user's X.

        They are its means, or draws if there is a generator, which has to be on the CPU.
        """

        def rows(r: Tensor, v: Tensor) -> NDArray[Any]:
            p_x = self.module.decode(r, v)
            x = p_x.mean if generator is None else p_x.draw(generator)
            return self.rows.denormalize(x)

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
        # a model of an older version has no temperatures
        later = {
            "temperature": dict.fromkeys(RULES, 1.0),
            "style_weight": None,
            "background": np.zeros((0, 0)),
        }
        self.__dict__.update(later | fields, module=for_inference(module))


def for_inference(module: EquiVAEModule) -> EquiVAEModule:
    """Return the module in eval mode and without gradients; for images with channels last."""
    if len(module.input_shape) == 3:
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return module.eval().requires_grad_(False)

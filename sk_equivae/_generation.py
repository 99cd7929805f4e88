"""`GenerationMixin`: what one can do with r and v apart, on both estimators.

Rows come and go in the units, shape and dtype of the user's X. What is returned is
always the mean of p(x | r, v): its own noise is independent from feature to feature
and shows nothing.
"""

from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ._added_classes import AddedClassesMixin
from ._batches import RowDataset
from ._device import exact
from ._distributions import prior_v
from ._inputs import to_user
from ._labels import encode_labels
from ._styles import from_class, to_class
from ._training import INFERENCE_BATCH


def _generator(random_state: Any) -> tuple[np.random.RandomState, torch.Generator]:
    """Generators of our own; for None with a seed from the system, not from numpy's global one."""
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return rng, torch.Generator().manual_seed(int(rng.randint(np.iinfo(np.int32).max)))


def _check_count(value: Any, name: str, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(
            f"{name} should be an int of at least {least}; got {value!r}. "
            f"Pass, for example, {name}={max(least, 8)}."
        )
    return int(value)


class GenerationMixin(AddedClassesMixin):
    """Generation, interpolation, style transfer, and a bound on log p(x)."""

    # ---------------------------------------------------------------- verbs

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray, NDArray]:
        """New rows: v as it is distributed within a class, decoded with the r of the class.

        Parameters
        ----------
        n_samples : int, default=1
        y : label or array-like of shape (n_samples,), optional
            The classes. Without it they are drawn from `class_prior_`.
        random_state : int, RandomState instance or None, default=None
            An int gives the same rows at each call.

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
        >>> rows, labels = clf.sample(3, y=[2, 0, 1], random_state=0)
        >>> rows.shape, labels
        ((3, 4), array([2, 0, 1]))
        """
        check_is_fitted(self)
        n_samples = _check_count(n_samples, "n_samples", 1)
        rng, generator = _generator(random_state)
        if y is None:
            seen = self._sampled_classes()
            prior = self.class_prior_[seen]
            codes = rng.choice(seen, n_samples, p=prior / prior.sum())
        else:
            codes = self._codes(y, n_samples)
            if (codes < 0).any():
                raise ValueError(
                    f"sample expects labels among {self.classes_.tolist()}; got the marker of "
                    f"unlabelled rows, {self.unlabeled!r}. Leave y out to draw the classes."
                )
        u = torch.randn(n_samples, self._module.n_latents[1], generator=generator).numpy()
        v = torch.from_numpy(to_class(u, codes, self.v_mean_, self.v_covariance_))
        return self._decode(self._r(codes), v), self.classes_[codes]

    def reconstruct(self, X: ArrayLike, y: Any = None) -> NDArray:
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
        codes, v = self._latents(X, y)
        return self._decode(self._r(codes), v)

    def interpolate(self, A: ArrayLike, B: ArrayLike, n_steps: int = 8) -> NDArray:
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
        n_steps = _check_count(n_steps, "n_steps", 2)
        (codes_a, v_a), (codes_b, v_b) = self._latents(A), self._latents(B)
        self._check_pairs("A", len(codes_a), "B", len(codes_b))
        t = torch.linspace(0, 1, n_steps, dtype=v_a.dtype)[:, None]
        # `lerp` of equal ends is exact, so r does not tremble within a class
        r = torch.lerp(self._r(codes_a)[:, None], self._r(codes_b)[:, None], t)
        v = torch.lerp(v_a[:, None], v_b[:, None], t)  # (n, n_steps, n_equivariant)
        rows = self._decode(r.flatten(0, 1), v.flatten(0, 1))
        return rows.reshape(len(v_a), n_steps, *self._spec.row_shape)

    def transfer_style(self, content: ArrayLike, style: ArrayLike, grid: bool = False) -> NDArray:
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
        (codes, _), (style_codes, v) = self._latents(content), self._latents(style)
        n_content, n_style = len(codes), len(style_codes)
        if not grid:
            self._check_pairs(
                "content", n_content, "style", n_style, " Or set grid=True for all pairs."
            )
            return self._decode(self._r(codes), self._as_in(codes, v, style_codes))
        codes, style_codes = np.repeat(codes, n_style), np.tile(style_codes, n_content)
        v = self._as_in(codes, v.repeat(n_content, 1), style_codes)
        rows = self._decode(self._r(codes), v)
        return rows.reshape(n_content, n_style, *self._spec.row_shape)

    def _as_in(self, codes: NDArray, v: Tensor, old_codes: NDArray) -> Tensor:
        """v of rows of some classes, as it is in other classes."""
        moments = self.v_mean_, self.v_covariance_
        moved = to_class(from_class(v.numpy(), old_codes, *moments), codes, *moments)
        same = torch.from_numpy(codes == old_codes)[:, None]
        return torch.where(same, v.double(), torch.from_numpy(moved))

    def inverse_transform(self, Z: ArrayLike) -> NDArray:
        """Rows of what `transform` gave.

        Parameters
        ----------
        Z : array-like of shape (n, n_components)
            r and v side by side for `representation="both"`; for "invariant" r, which is
            decoded at v = 0. From "equivariant" there is no way back: the class is not in it.

        Returns
        -------
        X : ndarray of shape (n, *row_shape)

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
        check_is_fitted(self)
        n_r, n_v = self._module.n_latents
        if self.representation == "equivariant":
            raise ValueError(
                "inverse_transform expects representation='both' or 'invariant'; got "
                "'equivariant', which does not hold the class of a row. Use "
                "`set_params(representation='both')` and transform again."
            )
        latents = self._tensor(check_array(Z, dtype=(np.float64, np.float32), copy=True))
        expected = n_r + n_v if self.representation == "both" else n_r
        if latents.shape[1] != expected:
            raise ValueError(
                f"inverse_transform expects {expected} columns for representation="
                f"{self.representation!r} and latent_dim={self.latent_dim!r}; got "
                f"{latents.shape[1]}. Pass what `transform` gave with the same representation."
            )
        v = (
            latents[:, n_r:]
            if self.representation == "both"
            else latents.new_zeros(len(latents), n_v)
        )
        return self._decode(latents[:, :n_r], v)

    def score_samples(self, X: ArrayLike, n_importance: int = 16, random_state: Any = 0) -> NDArray:
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
        data = RowDataset(self._validate_rows(X), self._spec.input_shape)
        n_importance = _check_count(n_importance, "n_importance", 1)
        _, generator = _generator(random_state)
        noise = torch.randn(n_importance, self._module.n_latents[1], generator=generator)
        parts = []
        with torch.inference_mode():
            for x, _ in self._normalized(data, max(1, INFERENCE_BATCH // n_importance)):
                parts.append(self._importance_bound(x, self._tensor(noise)).numpy())
        return np.concatenate(parts)

    def _importance_bound(self, x: Tensor, noise: Tensor) -> Tensor:
        """The bound of normalised rows, in float64."""
        module, n_draws = self._module, len(noise)
        h = module.equivariant.embed(x)
        repeated = x.repeat_interleave(n_draws, dim=0)
        joint = []  # log p(x, y), estimated, for each class that there is
        for code in self._sampled_classes():
            r = self._tensor(self.prototypes_[code]).expand(len(x), -1)
            q_v = module.equivariant(h, r)
            v = q_v.mean[:, None] + q_v.stddev[:, None] * noise  # (n, n_draws, n_equivariant)
            r, flat = r.repeat_interleave(n_draws, dim=0), v.flatten(0, 1)
            log_x = exact(module.decode(r, flat).log_prob(repeated)).reshape(len(x), n_draws)
            v, stddev, drawn = exact(v), exact(q_v.stddev), exact(noise)
            log_q = prior_v(drawn).log_prob(drawn) - stddev.log().sum(dim=1, keepdim=True)
            log_ratio = prior_v(v).log_prob(v) - log_q
            log_p_x = torch.logsumexp(log_x + log_ratio, dim=1) - np.log(n_draws)
            joint.append(log_p_x + np.log(self.class_prior_[code]))
        return torch.logsumexp(torch.stack(joint, dim=1), dim=1)

    # ---------------------------------------------------------------- checks

    @staticmethod
    def _check_pairs(first: str, n_first: int, second: str, n_second: int, hint: str = "") -> None:
        if n_first != n_second:
            raise ValueError(
                f"Expected as many rows in {second} as in {first}, which go in pairs; got "
                f"{n_first} in {first} and {n_second} in {second}. Repeat the rows of one.{hint}"
            )

    def _codes(self, y: Any, n_rows: int) -> NDArray:
        """Codes of a label or of an array of labels; -1 where it says unlabelled."""
        if np.ndim(y) == 0:
            y = [y] * n_rows
        codes, _ = encode_labels(y, self.unlabeled, self.classes_)
        if len(codes) != n_rows:
            raise ValueError(
                f"Expected y to be one label or {n_rows} labels, one a row; got {len(codes)}. "
                "Pass as many labels as rows."
            )
        unseen = ~self._has_prototype()[codes] & (codes >= 0)
        if unseen.any():
            raise ValueError(
                f"Expected classes with rows seen in training; got "
                f"{np.unique(self.classes_[codes[unseen]]).tolist()}, announced in `partial_fit` "
                "without a row so far. Call `partial_fit` with rows of them first."
            )
        return codes

    def _has_prototype(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.prototypes_).any(axis=1)

    def _sampled_classes(self) -> NDArray[np.intp]:
        """Codes of the classes that have a prototype and a prior."""
        codes = np.flatnonzero(self._has_prototype() & (self.class_prior_ > 0))
        if len(codes) == 0:
            raise ValueError(
                "Expected at least one class with labelled rows seen in training; got none. Call "
                "`partial_fit` with labelled rows first."
            )
        return codes

    # ---------------------------------------------------------------- rows and latents

    def _latents(self, X: Any, y: Any = None) -> tuple[NDArray, Tensor]:
        """Codes of the given or predicted classes, and the means of q(v | r_y, x)."""
        rows = self._validate_rows(X)
        given = None if y is None else self._codes(y, len(rows))
        codes, means = [], []
        prototypes = self._tensor(self.prototypes_)
        with torch.inference_mode():
            data = RowDataset(rows, self._spec.input_shape, given)
            for x, code in self._normalized(data, INFERENCE_BATCH):
                if bool((code < 0).any()):
                    code = torch.where(code < 0, self._class_logits(x).argmax(dim=1), code)
                codes.append(code.numpy())
                r = prototypes[code.to(x.device)]
                means.append(self._module.encode(x, r).mean.cpu())
        return np.concatenate(codes), torch.cat(means)

    def _r(self, codes: NDArray) -> Tensor:
        return torch.from_numpy(self.prototypes_[codes])

    def _decode(self, r: Tensor, v: Tensor) -> NDArray:
        """The user's rows of pairs of latents, a batch at a time."""
        module, like = self._module, self._tensor(0.0)
        rows = np.empty((len(r), *self._spec.row_shape), dtype=self._spec.dtype)
        with torch.inference_mode():
            for start in range(0, len(r), INFERENCE_BATCH):
                part = slice(start, start + INFERENCE_BATCH)
                x = module.decode(*(t[part].to(like) for t in (r, v))).mean
                rows[part] = to_user(module.denormalize(x).cpu().numpy(), self._spec)
        return rows

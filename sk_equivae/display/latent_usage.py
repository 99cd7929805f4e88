"""`LatentUsageDisplay`: how much each dimension of v tells about a row."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support
from torch import Tensor

from ..model.distributions import kl_v_dims
from .checks import check_estimator
from .colors import GREY, PALETTE

# A dimension with less than this many nats tells next to nothing.
UNUSED = 0.2


def kl_per_dimension(estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
    """Return KL[q(v | r_y, x) || p(v)] of each dimension of v, the mean over rows.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    X : array-like of the shape seen in `fit`
        The rows.
    y : array-like of shape (n,), default=None
        Their labels; unlabelled rows, and all rows by default, get the predicted class.

    Returns
    -------
    kl : ndarray of shape (n_equivariant,)
        Nats per row.
    """
    model, rows = estimator.model_, estimator._validate_rows(X)
    codes = np.full(len(rows), -1) if y is None else estimator._codes(y, len(rows))
    codes, _ = model.latents(rows, estimator.predict_with, codes)
    prototypes = model.tensor(model.prototypes)

    def kl(x: Tensor, code: Tensor) -> Tensor:
        return kl_v_dims(model.module.encode(x, prototypes[code]))

    return np.asarray(model.map(kl, rows, codes), dtype=np.float64).mean(axis=0)


class LatentUsageDisplay:
    """The KL divergence of each dimension of v from its prior, in nats per row.

    A dimension with 0 nats tells nothing about a row: the decoder ignores it. If all dimensions
    are used, a larger `latent_dim` may describe rows better; if few are, a smaller one is enough.

    Parameters
    ----------
    kl : ndarray of shape (n_equivariant,)
        KL[q(v | r_y, x) || p(v)] of each dimension, the mean over rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    bars_ : matplotlib BarContainer
        The bars, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import LatentUsageDisplay
    >>> LatentUsageDisplay(np.array([0.01, 2.5, 1.0])).n_used
    2
    """

    def __init__(self, kl: NDArray[Any]):
        self.kl = kl

    @property
    def n_used(self) -> int:
        """Number of dimensions with more than 0.2 nats."""
        return int(np.sum(np.asarray(self.kl) > UNUSED))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *,
        ax: Any = None, **kwargs: Any,
    ) -> "LatentUsageDisplay":  # fmt: skip
        """Draw the KL divergence of each dimension of v.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        X : array-like of the shape seen in `fit`, default=None
            Rows to encode. None takes those of training: `kl_v_`.
        y : array-like of shape (n,), default=None
            Their labels. Unlabelled rows, and all rows by default, get the predicted class.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : LatentUsageDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        kl = estimator.kl_v_ if X is None else kl_per_dimension(estimator, X, y)
        return cls(kl).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "LatentUsageDisplay":
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `Axes.bar`.

        Returns
        -------
        display : LatentUsageDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        kl = np.asarray(self.kl, dtype=np.float64)
        if ax is None:
            width = min(16.0, max(4.5, 0.3 * len(kl) + 1.5))
            _, ax = plt.subplots(figsize=(width, 3.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        order = np.argsort(-kl, kind="stable")
        self.bars_ = ax.bar(range(len(kl)), kl[order], **{"color": PALETTE[0], **kwargs})
        ax.axhline(UNUSED, color=GREY, linestyle="--", linewidth=1)
        every = max(1, len(kl) // 32)
        ax.set_xticks(range(0, len(kl), every), [f"v{i}" for i in order[::every]])
        ax.tick_params("x", rotation=90 if len(kl) > 12 else 0)
        ax.set(ylabel="KL, nats per row")
        ax.set_title(
            f"{self.n_used} of {len(kl)} dimensions of v have over {UNUSED} nats; "
            f"{kl.sum():.1f} in all",
            fontsize="medium",
        )
        return self

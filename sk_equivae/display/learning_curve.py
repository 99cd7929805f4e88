"""`LearningCurveDisplay`: the bound over the epochs of training."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .checks import check_estimator


class LearningCurveDisplay:
    """The bound over training, split into reconstruction and negative KL (Figure 3, right).

    The two parts sum to the bound. KL is that of q(v, y | x) from the prior p(v) p(y);
    for a labelled row its part in y is -log p(y).

    Parameters
    ----------
    history : list of dict
        One dict per epoch, like `history_` of an estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    lines_ : dict of matplotlib Line2D
        The curves, with the keys "train_elbo", "train_reconstruction" and
        "train_negative_kl", and the same with "valid" if there were validation rows.

    Examples
    --------
    >>> from sk_equivae import LearningCurveDisplay
    >>> history = [{"epoch": 1, "train_elbo": -9.0, "train_reconstruction": -7.0}]
    >>> LearningCurveDisplay(history).curves()["train_negative_kl"]
    array([-2.])
    """

    PARTS: ClassVar = (
        ("elbo", "bound"),
        ("reconstruction", "reconstruction"),
        ("negative_kl", "-KL"),
    )

    def __init__(self, history: list[dict[str, Any]]):
        self.history = history

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> "LearningCurveDisplay":
        """Draw the `history_` of a fitted estimator.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : LearningCurveDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        return cls(estimator.history_).plot(ax=ax, **kwargs)

    def curves(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of each curve.

        Returns
        -------
        curves : dict of ndarray of shape (n_epochs,)
            One value per epoch; NaN where an epoch has none. See `lines_` for the keys.
        """
        curves: dict[str, NDArray[np.float64]] = {}
        for side in ("train", "valid"):
            if not any(f"{side}_elbo" in row for row in self.history):
                continue
            for name in ("elbo", "reconstruction"):
                key = f"{side}_{name}"
                curves[key] = np.array([row.get(key, np.nan) for row in self.history])
            curves[f"{side}_negative_kl"] = (
                curves[f"{side}_elbo"] - curves[f"{side}_reconstruction"]
            )
        if not curves:
            raise ValueError(
                "LearningCurveDisplay expects a history with 'train_elbo'; got "
                f"{len(self.history)} epochs without it. Pass `history_` of a fitted estimator."
            )
        return curves

    def plot(self, ax: Any = None, **kwargs: Any) -> "LearningCurveDisplay":
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `Axes.plot`.

        Returns
        -------
        display : LearningCurveDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator

        curves = self.curves()
        if ax is None:
            _, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        epochs = [row.get("epoch", i) for i, row in enumerate(self.history, start=1)]
        single = {"marker": "o", "markersize": 4} if len(epochs) == 1 else {}
        self.lines_ = {}
        for i, (part, name) in enumerate(self.PARTS):
            for side, dashes in (("train", "-"), ("valid", "--")):
                if f"{side}_{part}" not in curves:
                    continue
                label = name if side == "train" else f"{name}, validation"
                style = {"color": f"C{i}", "linestyle": dashes, "label": label, **single, **kwargs}
                (line,) = ax.plot(epochs, curves[f"{side}_{part}"], **style)
                self.lines_[f"{side}_{part}"] = line
        ax.set(xlabel="epoch", ylabel="nats per row", title="The bound and its two parts")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return self

"""`TrainingHistoryDisplay`: the bound and the accuracy over the epochs of training."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .checks import check_estimator
from .colors import PALETTE


class TrainingHistoryDisplay:
    """The bound over training, split into reconstruction and negative KL, and the accuracy.

    The two parts sum to the bound. KL is that of q(v, y | x) from the prior p(v) p(y);
    for a labelled row its part in y is -log p(y). The accuracy is that of q(y | x) on the
    labelled rows.

    Parameters
    ----------
    history : list of dict
        One dict per epoch, like `history_` of an estimator.

    Attributes
    ----------
    axes_ : ndarray of one or two matplotlib Axes
        Axes of the bound and of the accuracy. The second is missing if the history has no
        accuracy.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    lines_ : dict of matplotlib Line2D
        The curves, with the keys "train_elbo", "train_reconstruction", "train_negative_kl" and
        "train_accuracy", and the same with "valid" if there were validation rows.

    Examples
    --------
    >>> from sk_equivae import TrainingHistoryDisplay
    >>> history = [{"epoch": 1, "train_elbo": -9.0, "train_reconstruction": -7.0}]
    >>> TrainingHistoryDisplay(history).curves()["train_negative_kl"]
    array([-2.])
    """

    PARTS: ClassVar = {"elbo": "bound", "reconstruction": "reconstruction", "negative_kl": "-KL"}

    def __init__(self, history: list[dict[str, Any]]):
        self.history = history

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> "TrainingHistoryDisplay":
        """Draw the `history_` of a fitted estimator.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        ax : matplotlib Axes or sequence of two, default=None
            Axes to draw the bound and the accuracy on; one alone gets the bound. None makes a
            new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
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
            for name in ("elbo", "reconstruction", "accuracy"):
                key = f"{side}_{name}"
                if any(key in row for row in self.history):
                    curves[key] = np.array([row.get(key, np.nan) for row in self.history])
            if f"{side}_elbo" in curves:
                negative_kl = curves[f"{side}_elbo"] - curves[f"{side}_reconstruction"]
                curves[f"{side}_negative_kl"] = negative_kl
        if "train_elbo" not in curves:
            raise ValueError(
                "TrainingHistoryDisplay expects a history with 'train_elbo'; got "
                f"{len(self.history)} epochs without it. Pass `history_` of a fitted estimator."
            )
        return curves

    def plot(self, ax: Any = None, **kwargs: Any) -> "TrainingHistoryDisplay":
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, default=None
            Axes to draw the bound and the accuracy on; one alone gets the bound. None makes a
            new figure.
        **kwargs : dict
            Keyword arguments for `Axes.plot`.

        Returns
        -------
        display : TrainingHistoryDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator

        curves = self.curves()
        if ax is None:
            n_axes = 1 + ("train_accuracy" in curves)
            _, ax = plt.subplots(1, n_axes, figsize=(5 * n_axes, 3.8), layout="constrained")
        self.axes_ = np.ravel(np.asarray(ax, dtype=object))
        self.figure_ = self.axes_[0].figure
        self.lines_: dict[str, Any] = {}
        for color, (part, name) in zip(PALETTE, self.PARTS.items(), strict=False):
            self._lines(self.axes_[0], curves, part, name, color=color, **kwargs)
        self.axes_[0].set(title="The bound and its two parts", ylabel="nats per row")
        for axis in self.axes_[1:2]:
            self._lines(axis, curves, "accuracy", "training", color=PALETTE[0], **kwargs)
            axis.set(title="Accuracy of q(y|x) on the labelled rows", ylabel="accuracy")
            axis.set_ylim(top=1.0 + 0.02 * (1.0 - axis.get_ylim()[0]))
        for axis in self.axes_[:2]:
            axis.set(xlabel="epoch")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.grid(alpha=0.3)
            if len(axis.get_lines()) > 1:
                axis.legend(fontsize="small", framealpha=0.6)
        return self

    def _lines(
        self, ax: Any, curves: dict[str, NDArray[np.float64]], part: str, name: str, **kwargs: Any
    ) -> None:
        """Draw one part of the history: training as a line, validation dashed."""
        epochs = [row.get("epoch", i) for i, row in enumerate(self.history, start=1)]
        single = {"marker": "o", "markersize": 4} if len(epochs) == 1 else {}
        for side, dashes in (("train", "-"), ("valid", "--")):
            if (key := f"{side}_{part}") in curves:
                other = "validation" if name == "training" else f"{name}, validation"
                label = name if side == "train" else other
                style = {"linestyle": dashes, "label": label, **single, **kwargs}
                (self.lines_[key],) = ax.plot(epochs, curves[key], **style)

"""Checks of what a display or `explore` is given."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import BaseEquiVAE


def check_estimator(estimator: Any, name: str) -> None:
    """Raise unless an object is a fitted estimator of this library.

    Parameters
    ----------
    estimator : object
        What the user passed.
    name : str
        Name of the display or function that it was passed to, for the message.
    """
    if not isinstance(estimator, BaseEquiVAE):
        is_class = isinstance(estimator, type)
        got = f"the class {estimator.__name__}" if is_class else type(estimator).__name__
        raise TypeError(
            f"{name} expects a fitted EquiVAEClassifier or EquiVAETransformer; got {got}. "
            f"{_remedy(estimator)}"
        )
    check_is_fitted(estimator)


def _remedy(estimator: Any) -> str:
    """Return what to pass instead."""
    if isinstance(estimator, type):
        return "Make an instance of it and call `fit` first."
    if hasattr(estimator, "best_estimator_"):
        return "Of a search pass `search.best_estimator_`."
    if isinstance(estimator, Pipeline):
        last = len(estimator.steps) - 1
        ours = (i for i, (_, step) in enumerate(estimator.steps) if isinstance(step, BaseEquiVAE))
        place = next(ours, last)
        step, at = ("last step", -1) if place == last else ("step", place)
        rows = f", and transformed rows, `pipeline[:{at}].transform(X)`" if place > 0 else ""
        return f"Of a pipeline pass the {step}, `pipeline[{at}]`{rows}."
    return (
        "Of a pipeline pass the last step, `pipeline[-1]`, and transformed rows, "
        "`pipeline[:-1].transform(X)`; of a search pass `best_estimator_`."
    )


def check_images(estimator: Any, name: str, method: str) -> None:
    """Raise unless the rows of a fitted estimator are images.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    name : str
        Name of the display, for the message.
    method : str
        Method of the estimator that gives the numbers behind the display.
    """
    if not estimator.model_.rows.is_image:
        raise ValueError(
            f"{name} expects an estimator of images; got one of tabular rows of "
            f"{estimator.n_features_in_} features. Use `{method}` and look at the numbers, or set "
            "`image_shape` before fit if the rows are images."
        )

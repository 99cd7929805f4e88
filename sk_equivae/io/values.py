"""Parameters and fitted attributes as JSON, and back; nothing is imported or executed.

JSON has no tuples, arrays or settings objects. Each is a dict with a single key that says
what it is, such as `{"tuple": [8, 8]}`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..files.errors import ArchiveError
from ..training.augment import SwapFeatures
from ..training.pictures import Photographic, RandomAffine
from ..training.pseudo_labels import Alignment, Discriminant, Experts, Graph
from ..training.settings import Networks, Objective

# The only classes that an archive can name.
SETTINGS: dict[str, type[BaseEstimator]] = {
    cls.__name__: cls
    for cls in (
        Objective,
        Networks,
        RandomAffine,
        Photographic,
        SwapFeatures,
        Alignment,
        Graph,
        Discriminant,
        Experts,
    )
}
# What the labels of classes may be; a dtype of another kind is refused.
LABEL_KINDS = "biufUO"


def encode(value: Any, path: str) -> Any:
    """Return a value as JSON holds it.

    Parameters
    ----------
    value : object
    path : str
        The name of the value, such as "networks.invariant_body".
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, tuple | list):
        items = [encode(item, f"{path}.{i}") for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        pairs = ([encode(key, path), encode(item, path)] for key, item in value.items())
        return {"dict": list(pairs)}
    if isinstance(value, np.random.RandomState):
        name, keys, *rest = value.get_state(legacy=True)
        return {"RandomState": [name, np.asarray(keys).tolist(), *rest]}
    if type(value) in SETTINGS.values():
        params = value.get_params(deep=False)
        fields = {key: encode(item, f"{path}.{key}") for key, item in params.items()}
        return {"settings": [type(value).__name__, fields]}
    kind = value if isinstance(value, type) or hasattr(value, "__qualname__") else type(value)
    return {"custom": f"{kind.__module__}.{kind.__qualname__}"}


def decode(value: Any, path: str, objects: dict[str, Any]) -> Any:
    """Return the value behind JSON.

    Parameters
    ----------
    value : object
        What `encode` returned.
    path : str
        The name of the value.
    objects : dict
        Values that the archive only names, by their path.
    """
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, list):
        return [decode(item, f"{path}.{i}", objects) for i, item in enumerate(value)]
    if not isinstance(value, dict) or len(value) != 1:
        raise ArchiveError(f"The value of {path} is not one that this format has.")
    ((kind, content),) = value.items()
    if kind == "tuple" and isinstance(content, list):
        return tuple(decode(content, path, objects))
    if kind == "dict" and isinstance(content, list):
        return _dict(content, path)
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "RandomState":
        return _random_state(content, path)
    if kind == "settings":
        return _settings(content, path, objects)
    if kind == "custom":
        return objects.get(path)
    raise ArchiveError(f"The value of {path} is of the kind {kind!r}, which this format lacks.")


def encode_all(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return named values as JSON holds them; "__" in a name is a dot of its path."""
    return {name: encode(value, prefix + name.replace("__", ".")) for name, value in values.items()}


def decode_all(values: dict[str, Any], objects: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the named values behind JSON."""
    return {
        name: decode(value, prefix + name.replace("__", "."), objects)
        for name, value in values.items()
    }


def _dict(content: list[Any], path: str) -> dict[Any, Any]:
    """Return a dict such as `class_weight`, from labels to numbers."""
    for pair in content:
        if not (isinstance(pair, list) and len(pair) == 2) or not all(
            isinstance(value, bool | str | int | float) for value in pair
        ):
            raise ArchiveError(f"The value of {path} is no dict from labels to numbers.")
    return {key: item for key, item in content}  # noqa: C416


def _random_state(content: Any, path: str) -> np.random.RandomState:
    try:
        name, keys, *rest = content
        state = np.random.RandomState()
        state.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    except (TypeError, ValueError, OverflowError) as error:
        raise ArchiveError(f"The value of {path} is no state of a generator: {error}") from error
    return state


def _settings(content: Any, path: str, objects: dict[str, Any]) -> BaseEstimator:
    if not (isinstance(content, list) and len(content) == 2 and isinstance(content[1], dict)):
        raise ArchiveError(f"The value of {path} is no settings object.")
    name, fields = content
    if name not in SETTINGS:
        raise ArchiveError(f"The value of {path} names the class {name!r}; expected one of "
                           f"{sorted(SETTINGS)}.")  # fmt: skip
    try:
        return SETTINGS[name](
            **{key: decode(item, f"{path}.{key}", objects) for key, item in fields.items()}
        )
    except TypeError as error:
        raise ArchiveError(f"The fields of {path} are not those of {name}: {error}") from error


def encode_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels of classes with their dtype."""
    return {"dtype": labels.dtype.str if labels.dtype != object else "object",
            "values": labels.tolist()}  # fmt: skip


def decode_labels(content: Any, path: str) -> NDArray[Any]:
    """Return labels as the array that they were."""
    try:
        dtype = np.dtype(content["dtype"])
        values = content["values"]
        if dtype.kind not in LABEL_KINDS:
            raise ValueError(f"labels of dtype {dtype}")
        if not all(isinstance(value, str | int | float | bool) for value in values):
            raise ValueError("labels that are neither strings, numbers nor bools")
        return np.array(values, dtype=dtype)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ArchiveError(f"{path} holds no labels: {error}") from error

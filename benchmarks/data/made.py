"""Rows that need no files: time series from a generator, and texts that come with scikit-learn."""

import importlib
import inspect
import pkgutil
import re
from itertools import chain

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

N_SERIES, N_TEMPLATES, LENGTH, TEMPLATE_LENGTH = 4_000, 10, 40, 12
TEMPLATE_SEED = 7  # the classes are the same for all seeds
STRETCH, SHIFT, TILT, TREND, NOISE = (2.0, 2.6), 3, 0.5, 0.75, 0.02

TOPICS = (
    "cluster", "decomposition", "ensemble", "linear_model",
    "metrics", "neighbors", "preprocessing", "svm",
)  # fmt: skip
MIN_WORDS, MAX_PER_TOPIC = 25, 250


def make_series(rng: np.random.RandomState, n: int = N_SERIES) -> tuple[NDArray, NDArray]:
    """Time series in the manner of MNIST-1D: ten shapes, each row a changed one of them.

    A shape is stretched, tilted, scaled and shifted within a series of 40 steps, over a smooth
    random trend and a little noise. The ten shapes are smooth random curves of our own.
    """
    shapes = np.random.RandomState(TEMPLATE_SEED).standard_normal((N_TEMPLATES, TEMPLATE_LENGTH))
    shapes = gaussian_filter1d(shapes, 1.0, axis=1)
    shapes = (shapes - shapes.mean(axis=1, keepdims=True)) / shapes.std(axis=1, keepdims=True)
    y = rng.permutation(np.arange(n) % N_TEMPLATES)
    X = gaussian_filter1d(TREND * rng.standard_normal((n, LENGTH)), 3.0, axis=1)
    X += NOISE * rng.standard_normal(X.shape)
    for row, code in zip(X, y, strict=True):
        length = round(TEMPLATE_LENGTH * rng.uniform(*STRETCH))
        steps = np.linspace(0, TEMPLATE_LENGTH - 1, length)
        curve = np.interp(steps, np.arange(TEMPLATE_LENGTH), shapes[code])
        tilt = TILT * rng.uniform(-1, 1) * np.linspace(-1, 1, length)
        curve = curve * rng.uniform(0.6, 1.4) + tilt
        start = (LENGTH - length) // 2 + rng.randint(-SHIFT, SHIFT + 1)
        row[start : start + length] += curve
    return X, y.astype(np.int64)


def docstring_paragraphs() -> tuple[list[str], NDArray]:
    """Paragraphs of scikit-learn's own docstrings; the class is the module that they are from.

    Texts that every installation has. Examples, headings and names of modules are left out.
    """
    found = [sorted(set(_paragraphs(topic))) for topic in TOPICS]
    # every second, third, ... one, so that long docstrings do not crowd out the others
    kept = [texts[:: max(1, len(texts) // MAX_PER_TOPIC)][:MAX_PER_TOPIC] for texts in found]
    return [*chain(*kept)], np.repeat(np.arange(len(kept)), [len(texts) for texts in kept])


def _paragraphs(topic: str) -> list[str]:
    module = vars(importlib.import_module(f"sklearn.{topic}"))
    found = []
    for name in sorted(module["__all__"]):
        thing = module.get(name)  # not there if experimental
        members = [thing]
        if inspect.isclass(thing):
            members += [member for key, member in sorted(vars(thing).items()) if key[0] != "_"]
        for member in members:
            text = inspect.getdoc(member) if callable(member) else None
            for paragraph in re.split(r"\n\s*\n|\n(?=\w+ : )", (text or "").split("Examples\n")[0]):
                words = re.findall(r"[a-z]{2,}", paragraph.lower())
                words = [word for word in words if word not in _MODULE_NAMES]
                if len(words) >= MIN_WORDS:
                    found.append(" ".join(words))
    return found


_MODULES = [module.name for module in pkgutil.iter_modules(sklearn.__path__)]
_MODULE_NAMES = {part for name in _MODULES for part in (name, *name.split("_"))}

"""What the sources of pseudo-labels find before training, computed once for several fits.

The candidates of a search differ in parameters that the sources do not depend on, such as
`m_max`. With a `joblib.Memory` the first candidate of a fold does the work, and the others read it.
"""

import hashlib
import os
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_memory

from .._progress import begin
from .._version import __version__
from ..fitted.compact import PART, parts
from .batches import TrainingRows
from .checkpoint import CHUNK_BYTES
from .pseudo_labels import Problem, Source
from .row_evidence import Evidence


def find_evidence(
    sources: Sequence[Source], data: TrainingRows, n_classes: int, seed: int, memory: Any = None
) -> tuple[Evidence | None, list[Source]]:
    """Return the class probabilities of all rows before training, and the prepared sources.

    Parameters
    ----------
    sources : sequence of Source
        The sources, in their order.
    data : TrainingRows
        The rows, labelled and unlabelled.
    n_classes, seed : int
        Number of classes, and seed of the random numbers.
    memory : str, path-like or object with the interface of joblib.Memory, optional
        Where results are kept. They are found again by the content of the rows, labels and
        weights, the sources that look at rows before training, and the seed.

    Returns
    -------
    evidence : ndarray of shape (n, n_classes) or None
        See `Problem.evidence`.
    sources : list of Source
        The sources as they are after `prepare`.
    """
    looking = [type(source).prepare is not Source.prepare for source in sources]
    some = [source for source, looks in zip(sources, looking, strict=True) if looks]
    if memory is None or not some:
        evidence, prepared = _find(some, data, n_classes, seed, "")
    else:
        memory = os.fspath(memory) if isinstance(memory, os.PathLike) else memory
        found = check_memory(memory).cache(_find, ignore=["data"])
        evidence, prepared = found(some, data, n_classes, seed, _digest(data))
    rest = iter(prepared)
    return evidence, [
        next(rest) if looks else source for source, looks in zip(sources, looking, strict=True)
    ]


def _find(
    sources: list[Source], data: TrainingRows, n_classes: int, seed: int, digest: str
) -> tuple[Evidence | None, list[Source]]:
    """Prepare the sources one after the other; `digest` stands for the rows in the cache."""
    problem = Problem(data, n_classes, seed)
    for source in sources:
        begin(source.label or type(source).__name__)
        source.prepare(problem)
    return problem.evidence, sources


def _digest(data: TrainingRows) -> str:
    """Return a digest of all that the sources may see of the rows, and of the version."""
    like, digest = data.normalized.like, hashlib.sha256()
    # values alone: a memory map and an array with the same values have the same digest
    n_rows = max(1, CHUNK_BYTES // max(1, data.X[:1].nbytes))
    for array, size in ((data.X, n_rows), (data.codes, PART), (data.weight, PART)):
        digest.update(f"{array.shape} {array.dtype}".encode())
        for part in parts(len(array), size):
            digest.update(np.ascontiguousarray(array[part]).data)
    digest.update(np.ascontiguousarray(data.rows).data)
    known = (digest.hexdigest(), data.spec, str(like.dtype), str(like.device), __version__)
    return str(joblib.hash(known))

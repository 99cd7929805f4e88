"""The file format: tensors as safetensors, everything else as JSON in its header.

An archive is one safetensors file. Its header holds, beside the shapes of the tensors, one
text: a JSON document, the *manifest*. There is no pickle in it, no other file, and nothing
that is executed; a reader needs a JSON parser and the list of offsets.
"""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .atomic import write_whole
from .errors import ArchiveError

FORMAT = "sk_equivae"
FORMAT_VERSION = 4
# Limits of what a model can be. A file beyond them was made to exhaust memory or the parser.
MAX_HEADER = 32 * 2**20
MAX_TENSORS = 10_000
ITEM_SIZES = {"F64": 8, "F32": 4, "I64": 8, "BOOL": 1, "U8": 1}

Tensors = dict[str, NDArray[Any]]


def write_archive(path: Path, manifest: dict[str, Any], tensors: Tensors) -> None:
    """Write a manifest and tensors to a file, as a whole or not at all."""
    content = {"format_version": FORMAT_VERSION, **manifest}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    arrays = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    write_whole(path, save(arrays, metadata={"format": FORMAT, "manifest": text}))


def read_archive(path: Path) -> tuple[dict[str, Any], Tensors]:
    """Return the manifest and the tensors of a file.

    Raises
    ------
    ArchiveError
        If the file is no archive, is damaged, or is beyond the limits of the format.
    """
    content = path.read_bytes()
    length = _header_length(content, path)
    manifest = _check_header(content[8 : 8 + length], len(content) - 8 - length, path)
    try:
        return manifest, load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{path} is damaged: {error}") from error


def _header_length(content: bytes, path: Path) -> int:
    """Return the length of the header, which the first eight bytes tell."""
    length = int.from_bytes(content[:8], "little")
    if not 0 < length <= min(len(content) - 8, MAX_HEADER):
        raise ArchiveError(
            f"{path} is no archive of sk_equivae: its first bytes are not those of a safetensors "
            "file. Expected a model that `save` has written, or a checkpoint of `fit`."
        )
    return length


def _check_header(header: bytes, n_bytes: int, path: Path) -> dict[str, Any]:
    """Return the manifest, after a look at every entry of the header."""
    entries = parse_json(header, f"The header of {path}")
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ArchiveError(
            f"{path} is a safetensors file, but not an archive of sk_equivae. Expected a model "
            "that `save` has written, or a checkpoint of `fit`."
        )
    if len(entries) > MAX_TENSORS:
        raise ArchiveError(f"{path} names {len(entries)} tensors; at most {MAX_TENSORS} are read.")
    spans = sorted(_span(name, entry, n_bytes, path) for name, entry in entries.items())
    for (_, end), (start, _) in itertools.pairwise(spans):
        if start < end:
            raise ArchiveError(f"Tensors overlap in {path}.")
    manifest = parse_json(metadata.get("manifest"), f"The manifest of {path}")
    version = manifest.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise ArchiveError(
            f"{path} has the format version {version!r}; this version of sk_equivae reads 1 to "
            f"{FORMAT_VERSION}. Install a newer sk_equivae."
        )
    return manifest


def _span(name: str, entry: Any, n_bytes: int, path: Path) -> tuple[int, int]:
    """Return where a tensor starts and ends, after checking that this is what it says."""
    try:
        dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [*shape, start, end]
        if dtype not in ITEM_SIZES or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError("another dtype, or numbers that are none")
        n_values = 1
        for length in shape:  # by hand: the product of numpy's integers overflows
            n_values *= length
        if start > end or end > n_bytes or n_values * ITEM_SIZES[dtype] != end - start:
            raise ValueError("its shape disagrees with its bytes")
    except (TypeError, ValueError, KeyError) as error:
        raise ArchiveError(f"The tensor {name!r} of {path} is damaged: {error}") from error
    return start, end


def parse_json(text: Any, name: str) -> dict[str, Any]:
    """Return a JSON object: no NaN, no infinity, no key twice."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"the number {constant}")

    def finite(number: str) -> float:
        return float(number) if math.isfinite(float(number)) else refuse(number)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise ValueError("a name twice")
        return found

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if not isinstance(text, str):
            raise ValueError("no text")
        content = json.loads(
            text, parse_constant=refuse, parse_float=finite, object_pairs_hook=pairs
        )
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{name} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ArchiveError(f"{name} is damaged: expected a JSON object.")
    return content

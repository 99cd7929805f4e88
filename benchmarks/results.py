"""Result files: one JSON file a run, written whole or not at all, never run twice."""

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np

FOLDER = Path(__file__).parent / "results"
# Of what is kept outside the repository: models, and states of trainings.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sk_equivae"
PACKAGES = ("sk-equivae", "torch", "scikit-learn", "skorch", "numpy")


def run_once(path: Path, config: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> dict:
    """The result in `path`, measured now if it is not there yet.

    Parameters
    ----------
    path : Path
        Below `FOLDER`, one for each configuration and seed.
    config : dict
        What was run, the seed with it.
    measure : callable
        Runs it, and returns its figures.
    """
    if path.exists():
        return json.loads(path.read_text())
    start = time.perf_counter()
    figures = measure()
    result = {"config": config, **figures, **provenance(time.perf_counter() - start)}
    write(path, result)
    return result


def provenance(seconds: float) -> dict[str, Any]:
    """Where, when and with what a result was made."""
    return {
        "wall_seconds": round(seconds, 2),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "versions": {name: version(name) for name in PACKAGES}
        | {"python": platform.python_version()},
        "cpu": {"machine": platform.machine(), "cores": os.cpu_count()},
    }


def commit() -> str:
    """The commit of the source tree; with a mark if files have changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write(path: Path, result: dict[str, Any]) -> None:
    """Write a result; a run that is killed leaves nothing half-written."""
    with whole(path, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


@contextlib.contextmanager
def whole(path: Path, mode: str) -> Iterator[IO]:
    """A file that has its name only once all of it is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(mode, dir=path.parent, delete=False, suffix=".part") as file:
        try:
            yield file
        except BaseException:
            os.unlink(file.name)
            raise
    os.chmod(file.name, 0o644)  # a temporary file is its owner's alone
    os.replace(file.name, path)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """All results of a folder, in the order of their names."""
    for path in sorted(folder.glob("*.json")):
        yield json.loads(path.read_text())


def digest(config: dict[str, Any]) -> str:
    """A short name of a configuration, the same for the same contents."""
    text = json.dumps(config, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def standard_error(values: Sequence[float]) -> float:
    """Of the mean, by the paper's formula; one value has none."""
    return float(np.std(values)) / (len(values) - 1) ** 0.5 if len(values) > 1 else 0.0


def mean_and_error(values: Sequence[float], decimals: int = 2) -> str:
    """Mean ± the paper's standard error, and in brackets of how many values; one has no error."""
    mean = f"{np.mean(values):.{decimals}f}"
    if len(values) == 1:
        return f"{mean} (1)"
    return f"{mean} ± {standard_error(values):.{decimals}f} ({len(values)})"

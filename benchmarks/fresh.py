"""What has to be measured in a process of its own: start-up, and memory.

Nothing but the standard library is imported with this module: a process that measures imports
must not have made them.
"""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
STATUS = Path("/proc/self/status")
SAMPLING_SECONDS = 0.005


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of this module, called in a fresh process.

    Arguments and results are what JSON can hold.
    """
    code = (
        "import json, sys; from benchmarks import fresh; "
        f"print(json.dumps(fresh.{function.__name__}(*json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", code, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{function.__name__} failed in a process of its own:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def import_seconds() -> dict[str, float]:
    """Of what the package is built on, and after that of the package itself."""
    start = time.perf_counter()
    import sklearn  # noqa: F401
    import skorch  # noqa: F401
    import torch  # noqa: F401

    middle = time.perf_counter()
    import sk_equivae  # noqa: F401

    return {"others": middle - start, "package": time.perf_counter() - middle}


def iris_seconds(parameters: dict[str, Any]) -> float:
    """Of the first fit of a process: 150 rows of 4 features, all labelled."""
    from sklearn.datasets import load_iris

    from sk_equivae import EquiVAEClassifier

    X, y = load_iris(return_X_y=True)
    start = time.perf_counter()
    EquiVAEClassifier(random_state=0, **parameters).fit(X, y)
    return time.perf_counter() - start


# ---------------------------------------------------------------- memory


class PeakMemory:
    """The largest anonymous memory of this process while inside, in MB.

    Pages of a memory map are not in it: they are the file's, and the system takes them back
    when it needs them.
    """

    def __enter__(self) -> "PeakMemory":
        self.before = self.peak = anonymous_memory()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(SAMPLING_SECONDS):
            self.peak = max(self.peak, anonymous_memory())

    def figures(self) -> dict[str, float]:
        return {"before": self.before, "peak": self.peak}


def anonymous_memory() -> float:
    """RssAnon of this process, in MB."""
    found = re.search(r"RssAnon:\s+(\d+) kB", STATUS.read_text() if STATUS.exists() else "")
    if not found:
        raise RuntimeError(
            f"Expected RssAnon in {STATUS}, as on Linux; found none. Leave `memory` out of "
            "--measurements on this system."
        )
    return int(found[1]) * 1024 / 1e6


def fit_memory(folder: str, n_batches: int) -> dict[str, float]:
    """Fit on the images and labels in a folder, and keep the model there.

    Training ends after `n_batches`, which have seen what a step needs; all else that `fit`
    does is done on all rows.
    """
    import joblib
    import numpy as np

    from benchmarks.speed_fits import StopAfter
    from sk_equivae import EquiVAEClassifier

    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy")
    stop = StopAfter(n_batches)
    model = EquiVAEClassifier(max_epochs=1, batch_size=256, callbacks=[stop], random_state=0)
    with PeakMemory() as memory:
        model.fit(X, y)
    joblib.dump(model, Path(folder) / "model.joblib")
    return memory.figures()


def transform_memory(folder: str) -> dict[str, float]:
    """Transform the images in a folder by the model that `fit_memory` left there."""
    import joblib
    import numpy as np

    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    model = joblib.load(Path(folder) / "model.joblib")
    with PeakMemory() as memory:
        model.transform(X)
    return memory.figures()

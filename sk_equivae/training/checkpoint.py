"""Training that survives: its state in a file, after every epoch and every few minutes within.

A fit that goes on from a checkpoint ends with the same weights as one that was never stopped:
the file holds the weights and their averages, the optimiser, the generators, the place in the
epoch and in the schedules, what is believed of the rows, and the history.
"""

import hashlib
import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skorch.callbacks import Callback

from ..files.archive import Tensors, read_archive, write_archive
from ..files.errors import ArchiveError
from ..fitted.compact import parts
from .batches import TrainingRows
from .distributed import current_world
from .row_evidence import Evidence, evidence_tensors
from .settings import TrainingSettings
from .state import Saved, restore, state_of
from .term_log import TermLog

# Seconds between two states within an epoch.
INTERVAL = 180.0
# Bytes of X that are read at once.
CHUNK_BYTES = 2**26
# Settings that do not change what is learnt.
RUNNING = (
    "callbacks", "checkpoint", "device", "free_seed", "memory", "predict_with", "seed", "verbose",
)  # fmt: skip


def fingerprint(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    n_most: int | None = None,
    valid: TrainingRows | None = None,
) -> str:
    """Return a digest of rows, labels, weights and settings, by which a fit is recognised.

    With `n_most`, at most that many rows of X are read, evenly spread. `valid` are validation
    rows of the user.
    """
    digest = hashlib.sha256()
    if valid is not None:
        digest.update(fingerprint(valid, classes, settings, n_most).encode())
    if n_most is None:
        for part in parts(len(data.X), max(1, CHUNK_BYTES // data.X[:1].nbytes)):
            digest.update(np.ascontiguousarray(data.X[part]).data)
    else:
        some = np.arange(0, len(data.X), -(-len(data.X) // n_most))
        digest.update(np.ascontiguousarray(data.X[some]).data)
    for array, dtype in ((data.codes, np.int64), (data.weight, np.float64), (data.rows, np.int64)):
        for part in parts(len(array)):
            digest.update(np.ascontiguousarray(array[part], dtype=dtype).data)
    digest.update(repr((data.X.shape, str(data.X.dtype), classes.tolist())).encode())
    for field in fields(settings):
        value = getattr(settings, field.name)
        if hasattr(value, "get_params"):
            value = sorted(value.get_params().items(), key=lambda pair: pair[0])
        if field.name not in RUNNING:
            # a function is at another address in the next process
            text = re.sub(r" at 0x[0-9a-f]+", "", repr(value), flags=re.IGNORECASE)
            digest.update(f"{field.name}={text}".encode())
    return digest.hexdigest()


def read_checkpoint(path: Path, digest: str, settings: TrainingSettings) -> Saved | None:
    """Return the state to go on from; None without a file, or after a fit that was finished.

    Raises
    ------
    FileNotFoundError
        If the folder is not there, so that training does not end without its checkpoint.
    ValueError
        If the file belongs to a fit of other data or with other parameters.
    """
    if not path.exists():
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"Expected `checkpoint` to be a path in an existing folder; got {path}. The folder "
                f"{path.parent} is not there. Make it first."
            )
        return None
    manifest, tensors = read_archive(path)
    if manifest.get("kind") != "checkpoint":
        raise ArchiveError(
            f"{path} is an archive, but no checkpoint. Pass another path as `checkpoint`."
        )
    if manifest["finished"]:
        return None
    other_seed = not settings.free_seed and manifest["seed"] != settings.seed
    if manifest["fingerprint"] != digest or other_seed:
        raise ValueError(
            f"The checkpoint {path} belongs to a fit of other data or with other parameters, which "
            "was not finished. Go on with those, pass another path, or delete the file."
        )
    return Saved(manifest, tensors)


class Checkpoint(Callback):
    """Write the state of training, and put it back at the start. It has to be the last callback.

    Parameters
    ----------
    path : Path
        The file.
    digest : str
        The fingerprint of the fit.
    seed : int
        The seed of the fit.
    saved : Saved or None
        The state to go on from.

    Attributes
    ----------
    evidence : ndarray or None
        What the sources believe of the rows before training.
    error : OSError or None
        What went wrong when the last state was written.
    """

    def __init__(
        self,
        path: Path,
        digest: str,
        seed: int,
        saved: Saved | None = None,
    ):
        self.path = path
        self.digest = digest
        self.seed = seed
        self.saved = saved
        self.evidence: Evidence | None = None if saved is None else saved.evidence
        self.error: OSError | None = None

    @property
    def start(self) -> tuple[int, int]:
        """Epochs, and batches of the next epoch, that are done."""
        if self.saved is None:
            return 0, 0
        return self.saved.manifest["epoch"], self.saved.manifest["n_batches"]

    # ---------------------------------------------------------------- hooks

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Put the state back, after all other callbacks have started."""
        self.last_, self.n_before_ = time.monotonic(), 0
        self.rng_ = net.iterator_train__rng.get_state()
        if self.saved is not None:
            restore(net, self.saved)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Note the generator of the batches, and put back the first part of an epoch."""
        self.rng_ = net.iterator_train__rng.get_state()
        if self.saved is None:
            return
        manifest, terms = self.saved.manifest, self.saved.part("terms")
        net.history[-1]["batches"] = [dict(batch) for batch in manifest["batches"]]
        if terms:
            net.epoch_terms["train"] = TermLog(terms[""], manifest["batch_sizes"])
        self.n_before_ = manifest["n_batches"]
        self.saved = None

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Write the state if the last one is a few minutes old."""
        if training and time.monotonic() - self.last_ > INTERVAL:
            self.write(net, len(net.history) - 1, len(net.history[-1]["batches"]))

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the state."""
        if self.n_before_:  # batches of this epoch before the checkpoint
            n_batches = net.history[-1, "train_batch_count"] + self.n_before_
            net.history.record("train_batch_count", n_batches)
            self.n_before_ = 0
        self.rng_ = net.iterator_train__rng.get_state()
        self.write(net, len(net.history), 0)

    # ---------------------------------------------------------------- files

    def write(self, net: Any, epoch: int, n_batches: int) -> None:
        """Write the state; if that fails, training goes on and the last file stays."""
        manifest, tensors = state_of(net, epoch, n_batches)
        name, keys, *rest = self.rng_
        tensors["rng"] = np.asarray(keys, dtype=np.int64)
        tensors |= evidence_tensors(self.evidence)
        self._write({**manifest, "rng": [name, *rest], "finished": False}, tensors)
        self.last_ = time.monotonic()

    def finish(self) -> None:
        """Say in the file that the fit is finished."""
        self._write({"finished": True}, {})

    def _write(self, manifest: dict[str, Any], tensors: Tensors) -> None:
        if current_world().rank > 0:
            return  # the first process writes
        known = {"kind": "checkpoint", "fingerprint": self.digest, "seed": self.seed}
        try:
            write_archive(self.path, {**known, **manifest}, tensors)
        except OSError as error:
            self.error = error
        else:
            self.error = None

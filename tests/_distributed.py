"""What the processes of `test_distributed.py` run: `python _distributed.py TASK FOLDER`."""

import json
import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from skorch.callbacks import Callback

from sk_equivae import EquiVAEClassifier, Networks, Objective
from sk_equivae.datasets import mask_labels
from sk_equivae.model import complements
from sk_equivae.training import checkpoint as checkpoints
from sk_equivae.training import shared
from sk_equivae.training.distributed import current_world, joined

torch.set_num_threads(1)
RANK = int(os.environ.get("RANK", 0))


def digits(n=200, n_labels=5):
    X, y = load_digits(return_X_y=True)
    return X[:n].reshape(-1, 8, 8) / 16, mask_labels(y[:n], n_labels, random_state=0)


def small(**params):
    given = {"latent_dim": 3, "max_epochs": 2, "batch_size": 32, "random_state": 0, **params}
    return EquiVAEClassifier(**given)


class DieAt(Callback):
    """Kills the second process at a batch of the second epoch."""

    def on_batch_end(self, net, training=False, **kwargs):
        if RANK == 1 and len(net.history) == 2 and len(net.history[-1]["batches"]) == 2:
            os.kill(os.getpid(), signal.SIGKILL)


class Count(Callback):
    """Counts the steps of this process."""

    n_steps = 0

    def on_batch_end(self, net, training=False, **kwargs):
        Count.n_steps += training  # `fit` works with copies of callbacks


def fits(folder):
    X, y = digits()
    full = load_digits(return_X_y=True)[1][:200]
    wrong = {}
    models = {
        "few": small().fit(X, y),
        "free seed": small(random_state=None, max_epochs=1).fit(X, full),
        "stopping": small(early_stopping=True, max_epochs=3).fit(X, full),
        "paper": small(objective="paper", networks="paper", max_epochs=1).fit(X, y),
        "parts": small().partial_fit(X, y, classes=np.arange(10)).partial_fit(X[:50], y[:50]),
    }
    try:
        small().fit(X + RANK, y)
    except ValueError as error:
        wrong["data"] = str(error)
    try:
        small(batch_size=2, objective=Objective(graph=None, max_batch_size=2)).fit(X[:3], full[:3])
    except ValueError as error:
        wrong["rows"] = str(error)
    # workers of a search have the environment of this process, and train by themselves
    (alone,) = Parallel(n_jobs=2)(delayed(small(max_epochs=1).fit)(X, y) for _ in range(1))
    models["worker"] = alone
    (folder / f"models{RANK}.pickle").write_bytes(pickle.dumps((models, wrong)))


def gradients(folder):
    """The gradient of one batch without random numbers, as a check of what is exchanged."""
    if (folder / "several machines").exists():
        shared.FOLDER = Path("/dev/nowhere")
    complements.draw_m = lambda m_max, generator: m_max
    torch.randn = lambda shape, **kwargs: torch.zeros(shape, dtype=kwargs.get("dtype"))
    X, y = digits(60, 3)
    grads = {}

    class Keep(Callback):
        def on_grad_computed(self, net, **kwargs):
            named = net.module_.module.named_parameters()
            grads.setdefault("all", {name: p.grad.numpy().copy() for name, p in named})

    objective = Objective(
        max_batch_size=60, labeled_fraction=0.0, labeled_share="auto", alignment=None, graph=None
    )
    model = small(
        m_max=60, batch_size=60, max_epochs=1, dtype="float64", augment=None,
        callbacks=[Keep()], objective=objective, networks=Networks(dropout=0.0),
    )  # fmt: skip
    model.fit(X.reshape(60, -1), y)
    kept = {"grads": grads["all"], "loss": model.history_[0]["train_loss"]}
    size = os.environ.get("WORLD_SIZE", "1")
    (folder / f"gradients{RANK}of{size}.pickle").write_bytes(pickle.dumps(kept))


def dies(folder):
    """The first try ends in the second epoch; the next goes on from the checkpoint."""
    checkpoints.INTERVAL = 0.0
    if (folder / "by hand").exists():  # without torchrun, whose agent ends the others
        torch.distributed.init_process_group("gloo")
    first = not (folder / "tried").exists()
    X, y = digits()
    with joined():  # all have looked before anyone writes
        current_world().first(lambda: None)
    (folder / "tried").touch()
    callbacks = [Count(), DieAt()] if first else [Count()]
    model = small(checkpoint=folder / "state", callbacks=callbacks).fit(X, y)
    model.callbacks = None
    (folder / f"resumed{RANK}.pickle").write_bytes(pickle.dumps(model))
    (folder / f"steps{RANK}.json").write_text(json.dumps(Count.n_steps))


if __name__ == "__main__":
    {"fits": fits, "gradients": gradients, "dies": dies}[sys.argv[1]](Path(sys.argv[2]))

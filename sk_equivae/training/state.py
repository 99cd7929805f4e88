"""The state of a training: what a net needs to go on as if it had never been stopped."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from skorch.callbacks import EarlyStopping, LRScheduler
from torch import Tensor

from ..files.archive import Tensors
from .callbacks import KLWarmup
from .row_evidence import Evidence, evidence_of
from .term_log import TermLog


@dataclass
class Saved:
    """The content of a checkpoint.

    Attributes
    ----------
    manifest : dict
        Numbers and the history.
    tensors : dict of ndarray
        Weights and states.
    """

    manifest: dict[str, Any]
    tensors: Tensors

    @property
    def evidence(self) -> Evidence | None:
        """What the sources believed of the rows before training."""
        return evidence_of(self.tensors)

    def part(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose name starts with a prefix, without it."""
        return {
            name.removeprefix(prefix): torch.from_numpy(value)
            for name, value in self.tensors.items()
            if name.startswith(prefix)
        }


def state_of(net: Any, epoch: int, n_batches: int) -> tuple[dict[str, Any], Tensors]:
    """Return the state of a net after some epochs and some batches of the next one."""
    optimizer = net.optimizer_.state_dict()
    collected = net.epoch_terms["train"] if n_batches else TermLog()
    parts: dict[str, dict[str, Any]] = {
        "module.": net.module_.state_dict(),
        "memory.": net.criterion_.memory.state_dict(),
        "optimizer.": {
            f"{i}.{name}": value
            for i, state in optimizer["state"].items()
            for name, value in state.items()
        },
        "source.": {
            str(i): source.mean_
            for i, source in enumerate(net.criterion_.sources)
            if getattr(source, "mean_", None) is not None
        },
        "": {"generator": net.generator.get_state()},
    }
    if len(collected):
        parts[""]["terms"] = collected.values
    callbacks = {}
    for name, callback in net.callbacks_:
        callbacks[name], best = _callback_state(callback)
        parts[f"best.{name}."] = best
    history = [_plain(row) for row in net.history[:epoch]]
    batches = [_plain(batch) for batch in net.history[-1]["batches"]] if n_batches else []
    manifest = {
        "epoch": epoch,
        "n_batches": n_batches,
        "n_steps": net.module_.n_steps,
        "lr": optimizer["param_groups"][0]["lr"],
        "callbacks": callbacks,
        "history": history,
        "batches": batches,
        "batch_sizes": collected.sizes.tolist(),
        "report": _plain_report(net.criterion_.report),
    }
    tensors = {
        prefix + name: value.detach().cpu().numpy()
        for prefix, part in parts.items()
        for name, value in part.items()
    }
    return manifest, tensors


def restore(net: Any, saved: Saved) -> None:
    """Put the state of a checkpoint into a net whose callbacks have started."""
    manifest = saved.manifest
    net.module_.load_state_dict(saved.part("module."))
    net.module_.n_steps = manifest["n_steps"]
    net.criterion_.memory.load_state_dict(saved.part("memory."))
    if net.criterion_.experts is not None and manifest.get("report") is not None:
        net.criterion_.experts.report_ = {
            name: _with_nan(row) for name, row in manifest["report"].items()
        }
    for i, mean in saved.part("source.").items():
        net.criterion_.sources[int(i)].mean_ = mean.to(net.criterion_.log_prior)
    optimizer = net.optimizer_.state_dict()
    optimizer["state"] = {}
    parameters = [p for group in net.optimizer_.param_groups for p in group["params"]]
    for name, value in saved.part("optimizer.").items():
        i, key = name.split(".")
        if value.shape == parameters[int(i)].shape:
            # in the memory format of the parameter, which Adam's fused code goes by
            value = torch.empty_like(parameters[int(i)]).copy_(value)
        optimizer["state"].setdefault(int(i), {})[key] = value
    for group in optimizer["param_groups"]:
        group["lr"] = manifest["lr"]
    net.optimizer_.load_state_dict(optimizer)
    net.generator.set_state(saved.part("generator")[""])
    name, *rest = manifest["rng"]
    net.iterator_train__rng.set_state((name, saved.tensors["rng"].astype(np.uint32), *rest))
    for name, callback in net.callbacks_:
        _restore_callback(callback, manifest["callbacks"].get(name), saved.part(f"best.{name}."))
    for row in manifest["history"]:
        net.history.append({**_with_nan(row), "batches": []})


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers, and lists of them, of a row of the history.

    NaN, which JSON lacks, is None.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and value != value else value

    def is_plain(value: Any) -> bool:
        if isinstance(value, list):
            return all(isinstance(one, int | float) for one in value)
        return isinstance(value, bool | int | float | str)

    return {key: plain(value) for key, value in row.items() if is_plain(value)}


def _with_nan(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it was before `_plain`."""

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(one) for one in value]
        return np.nan if value is None else value

    return {key: number(value) for key, value in row.items()}


def _plain_report(report: dict[str, dict[str, Any]] | None) -> Any:
    """Return what the experts found out as JSON holds it."""
    return None if report is None else {name: _plain(row) for name, row in report.items()}


def _callback_state(callback: Any) -> tuple[Any, dict[str, Tensor]]:
    """Return what a callback goes by, as JSON and as tensors."""
    if isinstance(callback, KLWarmup):
        return callback.step_, {}
    if isinstance(callback, LRScheduler):
        return [callback.batch_idx_, callback.lr_scheduler_.state_dict()], {}
    if isinstance(callback, EarlyStopping):
        threshold = str(callback.dynamic_threshold_)
        best = callback.best_model_weights_ or {}
        return [callback.misses_, threshold, callback.best_epoch_], best
    return None, {}


def _restore_callback(callback: Any, state: Any, best: dict[str, Tensor]) -> None:
    if isinstance(callback, KLWarmup):
        callback.step_ = state
    elif isinstance(callback, LRScheduler):
        callback.batch_idx_, scheduler = state
        callback.lr_scheduler_.load_state_dict(scheduler)
    elif isinstance(callback, EarlyStopping):
        callback.misses_, threshold, callback.best_epoch_ = state
        callback.dynamic_threshold_ = float(threshold)
        callback.best_model_weights_ = best or None

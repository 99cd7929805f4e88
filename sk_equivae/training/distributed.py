"""Training by several processes, which share the rows of every batch.

`torchrun --nproc-per-node 2 script.py` starts the script several times. `fit` notices this, and
the processes train one model together:

- All of them form the same batches. Each takes every n-th row of a batch, so that `batch_size`
  counts the rows of all processes, and a fit learns the same however many there are.
- Embeddings and class codes of the rows are exchanged in each step. Complements, class means and
  the class memory therefore come from the whole batch, and gradients flow back to the process
  that embedded a row.
- Gradients are added up before the optimiser steps, and the statistics of batch normalisation,
  which each process computes from its own rows, are averaged.
- The first process computes what is computed once: the seed, the evidence of the pseudo-labels,
  the checkpoint. It sends the result to the others.

`torch.nn.parallel.DistributedDataParallel` adds up the gradients of one call of a module's
`forward`. Here the parts of the module are called one by one, and the loss of a row depends on
rows of other processes. So gradients are added up explicitly, once per step: through shared memory
if all processes are on one machine (see `shared`), in one collective call otherwise. skorch's own
support of several processes, by the package accelerate, wraps the module in the former, and leaves
nets that cannot be pickled. Here the module stays as it is, and so does everything that is pickled
or saved.
"""

import atexit
import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import torch
import torch.distributed as dist

from .world import World

_current: ContextVar[World] = ContextVar("world")


def current_world() -> World:
    """Return the processes that train together now; a single one outside of `joined`."""
    return _current.get(World())


@contextlib.contextmanager
def joined() -> Iterator[World]:
    """Train with the other processes inside the context, if there are any.

    These are the processes of the default group of `torch.distributed`. If there is no group yet
    and `torchrun` has started this process, the group is made. Child processes and threads of
    this process, such as the workers of a search, train by themselves.
    """
    token = _current.set(_find_world())
    try:
        yield _current.get()
    finally:
        _current.reset(token)


def _find_world() -> World:
    if not dist.is_available() or threading.current_thread() is not threading.main_thread():
        return World()
    if not dist.is_initialized() and _started_by_torchrun():
        _join()
        atexit.register(_leave)
    if not dist.is_initialized():
        return World()
    return World(dist.get_rank(), dist.get_world_size())


def _join() -> None:
    """Make the default group of the processes that `torchrun` started.

    After a restart the store of `torchrun` still holds the addresses of the processes that have
    ended. So each start writes under a name of its own.
    """
    # where PyTorch is built without this package, these modules are missing
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, rank, n_processes = next(rendezvous("env://"))
    store = PrefixStore(f"start_{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    # collective calls take tensors of the CPU and of the GPU
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=n_processes)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _started_by_torchrun() -> bool:
    """Return whether `torchrun` started this very process, and not a parent of it."""
    return (
        dist.is_torchelastic_launched()
        and int(os.environ.get("WORLD_SIZE", 1)) > 1
        and multiprocessing.parent_process() is None
        and multiprocessing.current_process().name == "MainProcess"
    )


def own_device(device: str) -> str:
    """Return the device of this process: the GPU of its local rank, if no GPU was named."""
    world = current_world()
    if world.alone or device != "cuda":
        return device
    return f"cuda:{int(os.environ.get('LOCAL_RANK', world.rank)) % torch.cuda.device_count()}"

"""The processes that train together, and what they exchange. See `distributed`."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from ..fitted.compact import parts as slices
from .shared import SharedMemory, make_file


class BatchTotals(NamedTuple):
    """What every process knows about the whole of a batch."""

    n_rows: int
    n_unlabeled: int
    labeled_weight: float
    unlabeled_weight: float


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Explain the error of a collective call, which is about sockets."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"Another process of this training has ended or does not answer ({what}; "
            f"{str(error).splitlines()[0]}). See its output for the reason, and start all "
            "processes again. With `checkpoint`, `fit` goes on from the last state."
        ) from error


class _SumOverProcesses(torch.autograd.Function):
    """Add up a tensor over all processes, and its gradient too."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        with _explained("exchange of embeddings"):
            values = values.contiguous().clone()
            dist.all_reduce(values)
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        with _explained("exchange of gradients"):
            grad = grads[0].contiguous().clone()
            dist.all_reduce(grad)
        return grad


@dataclass
class World:
    """The processes that train together.

    Attributes
    ----------
    rank : int
        The number of this process, counted from 0.
    size : int
        The number of processes.
    batch : BatchTotals or None
        The current batch, as `TrainBatches` has formed it.
    shared : SharedMemory or None
        Memory of all processes, once it is needed.
    can_share : bool
        Whether there may be such memory. If not, everything is sent.
    """

    rank: int = 0
    size: int = 1
    batch: BatchTotals | None = None
    shared: SharedMemory | None = None
    can_share: bool = True

    @property
    def alone(self) -> bool:
        """Whether there is a single process."""
        return self.size == 1

    # ---------------------------------------------------------------- who does what

    def share(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of this process: every n-th one."""
        return rows if self.alone else rows[self.rank :: self.size]

    def share_batch(
        self, rows: NDArray[np.intp], codes: NDArray[Any], weight: NDArray[Any]
    ) -> NDArray[np.intp]:
        """Return the rows of this process, and note the totals of the batch.

        Parameters
        ----------
        rows : ndarray of int
            Positions of the rows of a batch, labelled rows first.
        codes, weight : ndarray
            Class codes and weights of these rows.

        Returns
        -------
        rows : ndarray of int
            Every n-th row.
        """
        if self.alone:
            return rows
        if len(rows) < self.size:
            raise ValueError(
                f"Expected at least one row of each batch per process; got {len(rows)} rows for "
                f"{self.size} processes. Start fewer processes, or raise `batch_size`."
            )
        labeled = codes >= 0
        self.batch = BatchTotals(
            len(rows),
            int((~labeled).sum()),
            float(weight[labeled].sum()),
            float(weight[~labeled].sum()),
        )
        return self.share(rows)

    def seed(self, *numbers: int) -> int:
        """Return a seed for this process and the given numbers."""
        return int(np.random.SeedSequence([self.rank, *numbers]).generate_state(1, np.uint64)[0])

    # ---------------------------------------------------------------- collective calls

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes; the tensor may be changed."""
        if not self.alone:
            with _explained("sum over processes"):
                dist.all_reduce(values)
        return values

    def sum_arrays(self, *arrays: NDArray[Any]) -> None:
        """Add up arrays over all processes, in place."""
        if self.alone:
            return
        for array in arrays:
            for part in slices(len(array)):  # a large one may be in a file
                values = self.sum(_for_backend(torch.from_numpy(array[part])))
                array[part] = values.cpu().numpy()

    def mean_rows(self, values: Tensor) -> Tensor:
        """Return the mean over the unlabelled rows of the batch, of all processes."""
        if self.alone or self.batch is None:
            return values.mean(dim=0)
        return self.sum(values.sum(dim=0)) / self.batch.n_unlabeled

    def exchange(self, h: Tensor, *codes: Tensor) -> tuple[Tensor, ...]:
        """Return embeddings and codes of all rows of the batch; those of this process come first.

        Positions of rows in the batch of this process stay valid.

        Parameters
        ----------
        h : Tensor of shape (n, n_hidden)
            Embeddings of the rows of this process.
        *codes : Tensor of shape (n,)
            Class codes of these rows.

        Returns
        -------
        h, *codes : Tensor of shape (n_rows, n_hidden) and (n_rows,)
            Embeddings and codes of all rows. Gradients flow back to the process that computed
            an embedding.
        """
        if self.alone or self.batch is None:
            return h, *codes
        n_rows, n_hidden = self.batch.n_rows, h.shape[1]
        mine = torch.arange(n_rows, device=h.device) % self.size == self.rank
        sent = torch.cat([h, torch.stack(codes, dim=1).to(h.dtype)], dim=1)  # (n, n_hidden + 2)
        rows = mine.nonzero()[:, 0]
        received = sent.new_zeros(n_rows, sent.shape[1]).index_copy(0, rows, sent)
        received = _SumOverProcesses.apply(received)  # type: ignore[no-untyped-call]
        received = received[torch.cat([rows, (~mine).nonzero()[:, 0]])]
        found = received[:, n_hidden:].detach().round().to(codes[0].dtype)
        return received[:, :n_hidden], *found.unbind(dim=1)

    def in_order(self, *values: Tensor) -> tuple[Tensor, ...]:
        """Return what `exchange` gave in the order of the batch, the same in all processes."""
        if self.alone or self.batch is None:
            return values
        is_other = torch.arange(self.batch.n_rows, device=values[0].device) % self.size != self.rank
        place = is_other.to(torch.uint8).argsort(stable=True).argsort()
        return tuple(value[place] for value in values)

    def first(self, function: Callable[[], Any]) -> Any:
        """Call a function in the first process, and return its result, or raise, in all."""
        if self.alone:
            return function()
        result, error = None, None
        if self.rank == 0:
            try:
                result = function()
            except Exception as raised:
                error = raised
        sent = [(result, error)]
        with _explained("waiting for the first process"):
            dist.broadcast_object_list(sent)
        result, error = sent[0]
        if error is not None:
            raise error
        return result

    def check_same(self, digest: str) -> None:
        """Raise in all processes if they were given different data or parameters."""
        if self.alone:
            return
        digests = [""] * self.size
        with _explained("comparison of the data"):
            dist.all_gather_object(digests, digest)
        if len(set(digests)) > 1:
            raise ValueError(
                "Expected the same X, y, sample_weight and parameters in all processes, which "
                f"share the rows themselves; got {len(set(digests))} different ones in "
                f"{self.size} processes. Pass all rows to each process: an array on disk, such as "
                "a memory map, takes no memory."
            )

    def synchronize(self, module: torch.nn.Module, terms: Tensor) -> Tensor:
        """Add up gradients and terms, and average batch statistics, all at once.

        Parameters
        ----------
        module : torch.nn.Module
            The networks, with the gradient of the loss of this process.
        terms : Tensor of shape (n_terms,)
            Terms of the objective for the rows of this process.

        Returns
        -------
        terms : Tensor of shape (n_terms,)
            Their sums.
        """
        if self.alone:
            return terms
        weights = [p for p in module.parameters() if p.requires_grad]
        for p in weights:
            if p.grad is None:  # a part that no row of this process needed
                p.grad = torch.zeros_like(p)
        shared: list[Tensor] = [p.grad for p in weights if p.grad is not None]
        statistics = [b for b in module.buffers() if b.is_floating_point()]
        torch._foreach_div_(statistics, float(self.size)) if statistics else None
        shared += [*statistics, terms.clone()]
        flat = self._sum_parts([t.reshape(-1) for t in shared])
        parts = flat.split([t.numel() for t in shared])
        torch._foreach_copy_(
            shared, [part.view_as(t) for part, t in zip(parts, shared, strict=True)]
        )
        return shared[-1]

    def _sum_parts(self, parts: list[Tensor]) -> Tensor:
        """Return the sum over all processes of values given in parts, one after the other."""
        if self.shared is None and self.can_share:
            self.shared = self._share_memory(sum(len(part) for part in parts), parts[0])
            self.can_share = self.shared is not None
        if self.shared is None:
            return self.sum(torch.cat(parts))
        self.shared.write(parts)
        self.sum(torch.zeros(1))  # waits for the others
        return self.shared.read()

    def _share_memory(self, n_values: int, like: Tensor) -> SharedMemory | None:
        """Return memory of all processes; None if they are on several machines, or on GPUs."""
        path = self.first(
            lambda: make_file(n_values, self.size, like) if like.device.type == "cpu" else None
        )
        found = path is not None and path.exists()  # it is missing on other machines
        memory = SharedMemory(path, n_values, self.rank, self.size, like) if found else None
        n_found = self.sum(torch.tensor(float(found), device=like.device))
        if self.rank == 0 and found:
            path.unlink()  # the memory stays as long as it is mapped, also if a process is killed
        return memory if int(n_found) == self.size else None

    def copy_first(self, module: torch.nn.Module) -> None:
        """Give all processes the weights of the first; networks of the user may differ."""
        if self.alone:
            return
        with _explained("exchange of the first weights"), torch.no_grad():
            for value in module.state_dict().values():
                sent = value.contiguous()
                dist.broadcast(sent, 0)
                value.copy_(sent)


def _for_backend(values: Tensor) -> Tensor:
    """Return a copy on a device that the backend can send."""
    on_gpu = dist.get_backend() == "nccl"
    return values.cuda() if on_gpu else values.clone()

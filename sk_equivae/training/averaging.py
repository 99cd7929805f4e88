"""The moving average of the weights, which labels unlabelled rows and makes predictions."""

import copy

import torch
from torch import Tensor, nn

from ..model.module import EquiVAEModule


class Averaged(nn.Module):
    """A module that is trained, and the moving average of its weights, which predicts.

    The average starts fast: after n steps the decay is min(decay, (1 + n) / (10 + n)).

    `torch.optim.swa_utils.AveragedModel` looks up all weights in each step, which takes four to
    six times as long: 7% of a training step on small tables. Here they are looked up once.

    Parameters
    ----------
    module : EquiVAEModule
        The networks to train.
    decay : float
        Decay of the average. With 0 there is no average, and the module itself predicts.
    """

    def __init__(self, module: EquiVAEModule, decay: float):
        super().__init__()
        self.module = module
        self.teacher: EquiVAEModule | None = None
        if decay > 0:
            self.teacher = copy.deepcopy(module).requires_grad_(False)
        self.decay = decay
        self.n_steps = 0

    @property
    def predictor(self) -> EquiVAEModule:
        """The networks that predict."""
        return self.module if self.teacher is None else self.teacher

    def forward(
        self, x: Tensor, weight: Tensor | None = None, evidence: Tensor | None = None
    ) -> Tensor:
        """Return the logits of q(y | x) of the networks that predict."""
        return self.predictor(x)

    def start(self) -> None:
        """Look up the weights for `update`."""
        self._weights: list[Tensor] = list(self.module.parameters())
        self._statistics = list(self.module.buffers())
        if self.teacher is not None:
            self._averages: list[Tensor] = list(self.teacher.parameters())
            self._copies = list(self.teacher.buffers())

    def stop(self) -> None:
        """Forget what `start` looked up."""
        for name in ("_weights", "_statistics", "_averages", "_copies"):
            self.__dict__.pop(name, None)

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the weights of the module."""
        if self.teacher is None:
            return
        self.n_steps += 1
        decay = min(self.decay, (1 + self.n_steps) / (10 + self.n_steps))
        torch._foreach_lerp_(self._averages, self._weights, 1 - decay)
        if self._copies:
            torch._foreach_copy_(self._copies, self._statistics)

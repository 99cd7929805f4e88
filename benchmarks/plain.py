"""What the estimator's training is compared with: a plain reading of the paper, a bare loop."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor, nn

from sk_equivae import EquiVAEClassifier
from sk_equivae._batches import RowDataset, count_steps, epoch_batches, grown_batch_size
from sk_equivae._complements import draw_m
from sk_equivae._distributions import kl_v
from sk_equivae._graph import graph_posterior
from sk_equivae._module import EquiVAEModule
from sk_equivae._net import Averaged, CosineDecay
from sk_equivae._networks import Conv, UpConv
from sk_equivae._objective import EquiVAEObjective, labeled_elbo, unlabeled_elbo
from sk_equivae._training import (
    KL_WARMUP,
    auto_batch_size,
    auto_epochs,
    make_module,
    make_objective,
    spreads_labels,
)


@dataclass
class Start:
    """What `fit` has before its first step: the same weights, objective, rows and seeds."""

    estimator: EquiVAEClassifier
    averaged: Averaged
    objective: EquiVAEObjective
    data: RowDataset
    generator: torch.Generator
    rng: np.random.RandomState
    seed: int


def start_of(estimator: EquiVAEClassifier, X: NDArray, y: NDArray) -> Start:
    """Do what `fit` does before its first step, on the CPU."""
    X, codes, classes, data = estimator._validate_fit(X, y, None, None, reset=True)
    seed = check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)
    averaged = make_module(estimator, X, len(classes), seed)
    objective = make_objective(estimator, averaged, codes)
    share, labeled = estimator.labeled_share, codes >= 0
    objective.set_data(
        np.bincount(codes[labeled], minlength=len(classes)) / labeled.sum(),
        float(np.mean(labeled)) if share == "auto" or labeled.all() else share,
    )
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.RandomState(seed)
    return Start(estimator, averaged, objective, data, generator, rng, seed)


class Steps:
    """Steps of training as one would write them in PyTorch: gradient, Adam, moving average.

    Parameters
    ----------
    averaged : Averaged
    objective : callable
        Takes what `__call__` takes and returns what is to be maximised.
    lr : float
        With 0 a step costs the same, and leaves the weights as they were.
    """

    def __init__(self, averaged: Averaged, objective: Callable[..., Tensor], lr: float):
        self.averaged = averaged.train()
        averaged.start()
        self.objective = objective
        self.optimizer = torch.optim.Adam(averaged.module.parameters(), lr=lr, fused=True)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.optimizer.zero_grad()
        (-self.objective(*args, **kwargs)).backward()
        self.optimizer.step()
        self.averaged.update()


def our_objective(start: Start) -> Callable[[tuple[Tensor, ...]], Tensor]:
    """The estimator's objective of a batch."""
    averaged, objective = start.averaged, start.objective.train()

    def value(batch: tuple[Tensor, ...]) -> Tensor:
        x, y, *rest = batch
        batch = x, y, *(tensor.to(averaged.module.scale.dtype) for tensor in rest)
        return objective(averaged.module, batch, start.generator, averaged.teacher)["objective"]

    return value


class PlainObjective:
    """The paper's objective as it stands, each row's m complements embedded anew.

    - r_y of a labelled row is that of m others of its class, drawn from the data (Eq. 2).
    - An unlabelled row has nothing to leave out: m rows drawn of each class serve all
      unlabelled rows of a batch, which is the cheaper reading.
    - Every class of an unlabelled row is decoded (Eq. 6).

    The networks are the same as ours, and x is embedded once by each. f_inv(x) takes no
    gradient, since q(y | x) hands none on.

    Parameters
    ----------
    start : Start
        Of an estimator with the parameters of `sk_equivae.presets.paper`.
    """

    def __init__(self, start: Start):
        self.module = start.averaged.module
        self.data = start.data
        self.generator = start.generator
        self.log_prior = start.objective.log_prior
        self.labeled_share = start.objective.labeled_share
        self.label_weight = start.objective.label_weight
        self.m_max = start.estimator.m_max
        codes = start.data.codes
        self.members = [np.flatnonzero(codes == k) for k in range(len(self.log_prior))]
        self.place = np.zeros(len(codes), dtype=int)  # of a row among the members of its class
        for members in self.members:
            self.place[members] = np.arange(len(members))
        self.random = random.Random(start.estimator.random_state)

    def __call__(self, rows: NDArray, m: int | None = None) -> Tensor:
        """The objective of the rows of a batch; m is drawn without a number."""
        m = m or int(draw_m(self.m_max, self.generator))
        rows = np.concatenate([rows[self.data.codes[rows] >= 0], rows[self.data.codes[rows] < 0]])
        x, y, _ = self.data[rows]
        x = self.module.normalize(x)
        n_labeled = int((y >= 0).sum())
        unlabeled = slice(n_labeled, None)

        with torch.no_grad():
            f_inv = self.module.f_inv(x)
        logits = self.module.classify(x, f_inv, self.generator)
        q_y = logits[unlabeled].softmax(dim=1)

        r = self._invariant(rows[:n_labeled], y[:n_labeled], len(rows) > n_labeled, m)
        n_classes = len(self.log_prior)
        pairs = torch.arange(len(rows)).repeat_interleave(
            torch.tensor([1] * n_labeled + [n_classes] * len(q_y))
        )
        r = torch.cat([r[:n_labeled], r[n_labeled:].repeat(len(q_y), 1)])  # (n_pairs, ...)
        reconstruction, divergence = self._reconstruct(x, pairs, r)

        objective = torch.zeros(())
        if n_labeled:
            y = y[:n_labeled]
            log_q_y = -F.cross_entropy(logits[:n_labeled], y)
            elbo = labeled_elbo(
                reconstruction[:n_labeled], divergence[:n_labeled], self.log_prior[y]
            )
            objective = self.labeled_share * elbo.mean() + self.label_weight * log_q_y
        if len(q_y):
            by_class = (t[unlabeled].reshape(q_y.shape) for t in (reconstruction, divergence))
            elbo = unlabeled_elbo(q_y, *by_class, self.log_prior)
            objective = objective + (1 - self.labeled_share) * elbo.mean()
        return objective

    def _invariant(self, rows: NDArray, y: Tensor, any_unlabeled: bool, m: int) -> Tensor:
        """r_y of labelled rows, and after them, if they are needed, those of all classes."""
        drawn = [self._draw(k, m, self.place[row]) for row, k in zip(rows, y.tolist(), strict=True)]
        if any_unlabeled:
            drawn += [self._draw(k, m) for k in range(len(self.members))]
        x = self.module.normalize(self.data[np.concatenate(drawn)][0])
        h = self.module.invariant.embed(x)
        sizes = torch.tensor([len(some) for some in drawn])
        group = torch.arange(len(drawn)).repeat_interleave(sizes)
        sums = h.new_zeros(len(drawn), h.shape[1]).index_add(0, group, h)
        return self.module.invariant.head(sums / sizes[:, None])

    def _draw(self, code: int, m: int, but: int | None = None) -> NDArray:
        """m rows of a class, or as many as there are, but for the one at the place `but`."""
        members = self.members[code]
        if but is None or len(members) == 1:
            return members[self.random.sample(range(len(members)), min(m, len(members)))]
        n_others = len(members) - 1
        places = np.array(self.random.sample(range(n_others), min(m, n_others)))
        return members[places + (places >= but)]

    def _reconstruct(self, x: Tensor, pairs: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """log p(x | r_y, v) and KL[q(v | r_y, x) || p(v)] of pairs of a row and an r_y."""
        q_v = self.module.equivariant(self.module.equivariant.embed(x)[pairs], r)
        noise = torch.randn(q_v.mean.shape, generator=self.generator, dtype=x.dtype)
        v = q_v.mean + q_v.stddev * noise
        return self.module.decode(r, v).log_prob(x[pairs]), kl_v(q_v)


def with_plain_layers(start: Start) -> Start:
    """The same networks as one would write them: PyTorch's own layers, channels first.

    Our convolutions give the same numbers, sooner. In place, for training alone.
    """
    for parent in list(start.averaged.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, Conv | UpConv):
                setattr(parent, name, _plain_layer(layer))
    start.averaged.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return start


def _plain_layer(layer: Conv | UpConv) -> nn.Module:
    kind = nn.ConvTranspose2d if isinstance(layer, UpConv) else nn.Conv2d
    shape = layer.in_channels, layer.out_channels, layer.kernel_size
    plain = kind(*shape, layer.stride, layer.padding)  # type: ignore[arg-type]
    plain.output_padding = layer.output_padding
    plain.weight, plain.bias = layer.weight, layer.bias
    return plain


def train_bare(
    start: Start,
    plain: bool = False,
    after_step: Callable[[EquiVAEModule, NDArray], bool] | None = None,
) -> bool:
    """Train as `fit` does, without skorch, history, or anything of the estimator.

    Parameters
    ----------
    start : Start
        Its weights are trained.
    plain : bool
        By the plain reading of the paper.
    after_step : callable, optional
        Takes the module that predicts and the codes of the batch, and returns whether to stop.

    Returns
    -------
    finished : bool
        False if it was stopped.
    """
    estimator, data = start.estimator, start.data
    if spreads_labels(estimator, start.averaged, data):
        n_classes = len(start.objective.log_prior)
        data.posterior = graph_posterior(start.averaged.module, data, n_classes, start.seed)
    n_epochs = estimator.max_epochs
    if n_epochs == "auto":
        any_unlabeled = bool((data.codes < 0).any())
        n_epochs = auto_epochs(len(data), len(data.input_shape) == 3, any_unlabeled)
    largest = estimator.max_batch_size or estimator.batch_size
    if largest == "auto":
        largest = auto_batch_size(len(data), estimator.batch_size)
    n_steps = count_steps(data.codes, estimator.batch_size, largest, n_epochs)
    schedule = CosineDecay(n_steps) if estimator.lr_decay else lambda _: 1.0
    warmup = KL_WARMUP if estimator.kl_warmup == "auto" else estimator.kl_warmup
    n_warmup = max(1, round(warmup * n_steps))

    step = Steps(start.averaged, PlainObjective(start) if plain else our_objective(start), 0.0)
    done = 0
    for epoch in range(n_epochs):
        size = grown_batch_size(estimator.batch_size, largest, epoch, n_epochs)
        for rows in epoch_batches(data.codes, size, estimator.m_max, start.rng):
            step.optimizer.param_groups[0]["lr"] = estimator.lr * schedule(done)
            start.objective.kl_weight = min(1.0, done / n_warmup) if warmup else 1.0
            step(rows if plain else data.training_batch(rows))
            done += 1
            if after_step and after_step(start.averaged.predictor, data.codes[rows]):
                return False
    return True

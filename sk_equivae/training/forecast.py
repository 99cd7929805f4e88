"""How long training will take: measured in a few steps before it, and as it goes on.

A plain count of steps misleads. The batch size grows, so later steps take longer; and as the
networks learn, fewer classes are decoded per row, so they take less.
"""

import copy
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from ..fitted.model import for_inference
from ..fitted.novelty import statistics
from ..fitted.rows import NormalizedRows
from ..model.randomness import private_global_generator
from ..model.rules import RULES, class_logits
from .averaging import Averaged
from .batches import TrainingRows
from .calibration import N_REGION, N_ROWS
from .composition import epoch_batches
from .distributed import current_world
from .net import Adam
from .objective import EquiVAEObjective
from .settings import TrainingSettings
from .summary import SOME_ROWS, STYLE_ROWS

# Time of a row relative to a row in training: batch statistics, prototypes, labels and styles.
STATISTICS, PROTOTYPES, LABELS, STYLES = 0.11, 0.07, 0.05, 0.09
# The same for what calibration asks about a row, if it is not measured: all rules, and the novelty.
RULES_ASKED, NOVELTY = 0.6, 0.15
# Rows to measure that with.
MEASURED_ROWS = 256
# Seconds of the graph of neighbours per pair of rows, and of the experts.
GRAPH, GRAPH_ROWS, EXPERTS = 3e-9, 2**16, 0.8
# Without a measurement, a step costs as much as this many rows in addition to its own.
FIXED = 64
# Steps in which the time for classes that are decoded in vain falls to 1/e, and its largest part.
FALL, MOST_FALL = 80.0, 0.35


def step_seconds(
    module: Averaged,
    objective: EquiVAEObjective,
    data: TrainingRows,
    sizes: Sequence[int],
    settings: TrainingSettings,
    clock: Callable[[], float],
) -> dict[int, float]:
    """Measure a training step of each batch size, on copies of the networks.

    Nothing is measured with networks or augmentations of the user, which may have a state of
    their own, and if several processes train together.

    Parameters
    ----------
    module, objective : Averaged and EquiVAEObjective
        The networks and the criterion.
    data : TrainingRows
        The rows.
    sizes : sequence of int
        The batch sizes.
    settings : TrainingSettings
        The parameters of the estimator.
    clock : callable
        Returns the time in seconds.

    Returns
    -------
    seconds : dict of int to float
        Seconds by batch size; empty if nothing was measured.
    """
    if not _can_measure(settings):
        return {}
    module, objective = copy.deepcopy((module, objective))
    module.start()
    optimizer = Adam(module.module.parameters(), fused=settings.device.startswith("cpu"))
    generator = torch.Generator(settings.device).manual_seed(settings.seed)
    rng = np.random.RandomState(settings.seed)
    seconds: dict[int, float] = {}

    def step(size: int) -> None:
        codes, fraction = data.own_codes, settings.objective.labeled_fraction
        index = next(iter(epoch_batches(codes, size, fraction, settings.m_max, rng)))
        inputs, y = data[index]
        inputs = {name: value.to(module.module.like.device) for name, value in inputs.items()}
        inputs["weight"] = inputs["weight"].to(module.module.like.dtype)
        if (y < 0).any() and data.spec.is_image:  # as if one class were known for each row
            likely = torch.eye(len(objective.log_prior))[y % len(objective.log_prior)]
            inputs["evidence"] = likely.to(module.module.like)
        terms, _ = objective(module.module, inputs, y, generator, module.teacher)
        optimizer.zero_grad()
        terms["objective"].neg().backward()
        optimizer.step()
        module.update()
        terms["objective"].item()  # waits for the device

    with private_global_generator(settings.seed, settings.device):
        for size in sorted(set(sizes)):
            step(size)  # the first is slow
            times = []
            for _ in range(2):
                start = clock()
                step(size)
                times.append(clock() - start)
            seconds[size] = min(times)
    return seconds


def asking_seconds(
    module: Averaged, data: TrainingRows, settings: TrainingSettings, clock: Callable[[], float]
) -> tuple[float, float] | None:
    """Measure what calibration asks about a row: the answers of all rules, and its novelty.

    Parameters
    ----------
    module : Averaged
        The networks, which are copied.
    data : TrainingRows
        The rows.
    settings : TrainingSettings
        The parameters of the estimator.
    clock : callable
        Returns the time in seconds.

    Returns
    -------
    seconds : (float, float) or None
        Seconds per row; None if nothing was measured.
    """
    if not _can_measure(settings):
        return None
    network = for_inference(copy.deepcopy(module.predictor))
    x = NormalizedRows(data.X, data.spec, network.like)[data.rows[:MEASURED_ROWS]]
    prototypes = network.like.new_zeros(network.n_classes, network.n_latents[0])
    log_prior = network.like.new_zeros(network.n_classes)
    rounds = []
    with torch.inference_mode():
        for _ in range(2):  # the first is slow
            times = [clock()]
            for rule in RULES:
                for asked in ("posterior", rule):
                    class_logits(network, x, prototypes, log_prior, asked)
            times.append(clock())
            statistics(network, x, prototypes, torch.arange(network.n_classes), 0)
            times.append(clock())
            rounds.append(np.diff(times) / len(x))
    rules, novelty = np.min(rounds, axis=0)
    return float(rules), float(novelty)


def _can_measure(settings: TrainingSettings) -> bool:
    users = settings.networks.architecture((1, 1)).has_user_networks or callable(settings.augment)
    return not users and current_world().alone


class Forecast:
    """The time that the rest of training will take.

    Parameters
    ----------
    steps, sizes : sequence of int
        Number of steps, and batch size, of each epoch.
    measured : dict of int to float, default=None
        Seconds of a step by batch size, from `step_seconds`.
    falling : bool, default=False
        Whether fewer classes will be decoded as training goes on.

    Examples
    --------
    Two epochs of 100 steps of 1 second, and one of 50 steps of 1.8 seconds:

    >>> forecast = Forecast([100, 100, 50], [64, 64, 128], {64: 1.0, 128: 1.8})
    >>> for _ in range(10):
    ...     forecast.step(1.0)
    >>> round(forecast.rest)
    280
    """

    def __init__(
        self,
        steps: Sequence[int],
        sizes: Sequence[int],
        measured: dict[int, float] | None = None,
        falling: bool = False,
    ):
        self.steps = np.array(steps)
        self.sizes = np.array(sizes)
        known = measured or {size: float(size + FIXED) for size in sizes}
        self.known = bool(measured)
        self.relative = np.array([known[size] for size in sizes])
        self.falling = falling and self.known
        self.n_done = 0
        self.between = 0.0
        self._n_between = 0
        self._n_seen = 0
        self._mean = float(self.relative[0]) if self.known else 0.0
        self._ends = np.cumsum(self.steps)

    @property
    def n_steps(self) -> int:
        """Number of steps of all epochs."""
        return int(self._ends[-1])

    @property
    def epoch(self) -> int:
        """Position of the epoch that the next step belongs to."""
        place = int(np.searchsorted(self._ends, self.n_done, side="right"))
        return min(place, len(self.steps) - 1)

    @property
    def epoch_before(self) -> int:
        """Position of the epoch that the last step belonged to."""
        return int(np.searchsorted(self._ends, max(self.n_done, 1), side="left"))

    def step(self, seconds: float) -> None:
        """Take the time of a step into account."""
        before = self.epoch
        self._n_seen += 1
        window = max(20, self.n_steps // 20)
        if self._n_seen == 2 or (self._n_seen == 1 and not self.known):
            self._mean = seconds  # the first step is slow
        elif self._n_seen > 2:
            self._mean += (seconds - self._mean) / min(self._n_seen - 1, window)
        self.n_done += 1
        if self.sizes[self.epoch] != self.sizes[before]:
            self._mean = float(self._costs(before)[self.epoch])
            self._n_seen = 3

    def gap(self, seconds: float) -> None:
        """Take the time between two epochs into account, such as that of validation."""
        self._n_between += 1
        self.between += (seconds - self.between) / self._n_between

    def _costs(self, now: int) -> np.ndarray:
        """Return the time of a step in each epoch, if it depended on the batch size alone."""
        if not self.known:
            return self._mean * self.relative / self.relative[now]
        speed = np.clip(self._mean / self.relative[now], 0.5, 2.0)
        return self._mean + speed * (self.relative - self.relative[now])

    @property
    def row_seconds(self) -> float:
        """Seconds of a row in a step of the last epoch."""
        return float(self._costs(self.epoch)[-1] / self.sizes[-1])

    @property
    def rest(self) -> float:
        """Seconds until the end of training."""
        now = self.epoch
        left = np.clip(self._ends - self.n_done, 0, self.steps)
        total = float(left @ self._costs(now)) + self.between * np.count_nonzero(left)
        if self.falling and self._n_seen > 2:
            vain = min(max(0.0, self._mean - self.relative[now]), MOST_FALL * self._mean)
            n_left = int(left.sum())
            total -= vain * (n_left - FALL * (1 - np.exp(-n_left / FALL)))
        return max(0.0, total)


def source_seconds(objective: EquiVAEObjective, data: TrainingRows) -> dict[str, float]:
    """Return the seconds that each source is expected to take before training, by its label."""
    seconds = {}
    for source in objective.sources if (data.own_codes < 0).any() else []:
        if source is objective.experts:
            seconds[source.label] = 0.0 if data.spec.is_image else EXPERTS
        elif source.label:
            seconds[source.label] = GRAPH * min(len(data), GRAPH_ROWS) ** 2
    return seconds


def rows_after_training(
    module: Averaged,
    data: TrainingRows,
    settings: TrainingSettings,
    forecast: Forecast,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Return what the phases after training take: as long as this many rows in training."""
    n_rows, n_unlabeled = len(data), int((data.own_codes < 0).sum())
    phases = {}
    if any(isinstance(part, _BatchNorm) for part in module.predictor.modules()):
        phases["batch statistics"] = STATISTICS * min(n_rows, SOME_ROWS)
    in_vain = n_unlabeled if settings.objective.complement_pool == "labeled" else 0
    phases["prototypes"] = PROTOTYPES * (n_rows - in_vain)
    phases["styles"] = STYLES * min(n_rows, STYLE_ROWS)
    n_asked = n_unlabeled or n_rows
    n_rules = min(n_asked, N_ROWS) if settings.objective.calibrate else 0
    per_row = np.array([RULES_ASKED, NOVELTY])
    seconds = asking_seconds(module, data, settings, clock)
    if seconds is not None:
        per_row = np.array(seconds) / forecast.row_seconds
    phases["calibration"] = float(per_row @ [n_rules, min(n_asked, N_REGION)])
    n_decoded = 4 * module.predictor.n_classes if settings.predict_with == "likelihood" else 1
    phases["labelling"] = LABELS * n_decoded * n_unlabeled
    return phases

"""Whether a row belongs to any known class: scores of rows, and how high they usually are."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model.bounds import labeled_elbo, latent_terms
from ..model.module import EquiVAEModule
from ..model.rules import prototype_logits, to_float64

Floats = NDArray[np.floating]

# Quantiles of the scores of known rows that are kept.
N_QUANTILES = 1001


def statistics(
    module: EquiVAEModule, x: Tensor, prototypes: Tensor, trained: Tensor, n_background: int
) -> Tensor:
    """Return what speaks against each row being of a known class.

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows.
    prototypes : Tensor of shape (n_classes + n_background, n_invariant)
        r_y of each class, and at the end those of rows of no class.
    trained : Tensor of int
        Positions of the classes of training.
    n_background : int
        Number of prototypes that stand for no class.

    Returns
    -------
    statistics : Tensor of shape (n, 3), or (n, 5) with a background
        The distance of f_inv(x) to the nearest prototype, the negative logarithm of the sum over
        the outputs of q(y | x), and the negative bound on log p(x | y) of the nearest class. With
        a background, also the log-odds of the background by q(y | x), and how much nearer its
        prototype is than the nearest of a class. Float64, on the CPU.
    """
    n_classes, n_outputs = len(prototypes) - n_background, module.n_classes - n_background
    known = ~prototypes.isnan().any(dim=1).cpu()
    r = prototypes.nan_to_num()
    f_inv = module.f_inv(x)
    distance = -prototype_logits(to_float64(f_inv), to_float64(r))
    distance = distance.masked_fill(~known, torch.inf)
    nearest, code = distance[:, :n_classes].min(dim=1)
    logits = to_float64(module.classify(x, f_inv))
    energy = -logits[:, :n_outputs].logsumexp(dim=1)
    terms = latent_terms(module, x, module.equivariant.embed(x), r[code.to(r.device)])
    bound = to_float64(labeled_elbo(terms, torch.zeros((), dtype=x.dtype, device=x.device)))
    # the networks know nothing of classes that were added after training, but their prototypes
    is_new = ~(code[:, None] == trained[:n_outputs]).any(dim=1)
    found = [
        nearest,
        energy.masked_fill(is_new, torch.nan),
        (-bound).masked_fill(is_new, torch.nan),
    ]
    if n_background:
        odds = logits[:, n_outputs:].logsumexp(dim=1) + energy
        found += [odds, nearest - distance[:, n_classes:].amin(dim=1)]
    return torch.stack(found, dim=1)


@dataclass(frozen=True, eq=False)
class Novelty:
    """How the statistics of rows of known classes are distributed.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_statistics,)
        Mean and standard deviation of each statistic.
    quantiles : ndarray of shape (1001,)
        Quantiles of the scores, from the smallest to the largest.
    """

    mean: Floats
    scale: Floats
    quantiles: Floats

    def score(self, values: Tensor) -> Tensor:
        """Return the scores of rows, which are lower the less a row is like the known ones.

        Parameters
        ----------
        values : Tensor of shape (n, n_statistics)
            What `statistics` returns; NaN where a statistic says nothing.

        Returns
        -------
        score : Tensor of shape (n,)
            The negative mean of the standardised statistics.
        """
        away = (values - torch.from_numpy(self.mean)) / torch.from_numpy(self.scale)
        return -away.nanmean(dim=1)

    def offset(self, share: float) -> float:
        """Return the score below which a share of the known rows lies.

        Examples
        --------
        >>> import numpy as np
        >>> Novelty(np.zeros(1), np.ones(1), np.linspace(-3, 3, 1001)).offset(0.25)
        -1.5
        """
        grid = np.linspace(0, 1, len(self.quantiles))
        return float(np.interp(share, grid, self.quantiles))


def find_novelty(values: Floats) -> Novelty:
    """Return the distribution of the statistics of rows that are known to belong to a class.

    Parameters
    ----------
    values : ndarray of shape (n, n_statistics)
        What `statistics` returns for these rows.

    Returns
    -------
    novelty : Novelty
        The distribution.
    """
    mean, scale = values.mean(axis=0), values.std(axis=0)
    scale = np.maximum(scale, np.finfo(float).eps * np.maximum(1.0, np.abs(mean)))
    scores = Novelty(mean, scale, np.zeros(1)).score(torch.from_numpy(values)).numpy()
    return Novelty(mean, scale, np.quantile(scores, np.linspace(0, 1, N_QUANTILES)))

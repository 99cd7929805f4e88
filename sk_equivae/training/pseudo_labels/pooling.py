"""How much to trust each opinion: weights under which held-out labels are most probable."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from ..._progress import current
from .source import Codes, Floats, Opinion

# Powers of a single opinion, to see whether it is better than chance.
POWERS = (0.25, 0.5, 1.0, 2.0, 4.0)
# Unlabelled rows count only if held-out labels are more probable with them by this, in nats. With
# few labels a smaller gain is often chance, and what unlabelled rows then add is wrong.
LEAST_GAIN = 0.25
# The weights sum up to this at least. With less, what the networks learn would be drowned in noise:
# near chance, a few hidden labels often make every opinion look worse than none.
LEAST_WEIGHT = 0.5


def held_out(
    opinions: Sequence[Opinion],
    codes: Codes,
    n_classes: int,
    n_folds: int,
    n_repeats: int,
    seed: int,
) -> tuple[NDArray[np.intp], Floats]:
    """Ask each opinion about labels that were hidden from it.

    A label is hidden only if its class has others. Each class keeps a label in every fold.

    Parameters
    ----------
    opinions : sequence of Opinion
        Whom to ask.
    codes : ndarray of shape (n,)
        Class codes; -1 for unlabelled rows.
    n_classes, n_folds, n_repeats, seed : int
        Number of classes, of folds and of their repetitions, and seed of the folds.

    Returns
    -------
    rows : ndarray of shape (n_hidden,)
        Positions of the labels that were hidden.
    answers : ndarray of shape (n_opinions, n_repeats, n_hidden, n_classes)
        Log-probabilities.
    """
    from sklearn.model_selection import StratifiedKFold  # imported when needed, as in `graph`

    rows = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[rows], minlength=n_classes)
    rows = rows[counts[codes[rows]] > 1]
    n_folds = min(n_folds, int(counts.max()))
    answers = np.zeros((len(opinions), n_repeats, len(rows), n_classes))
    if not len(rows):
        return rows, answers
    progress, n_asked = current(), 0
    for repeat in range(n_repeats):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer labels than folds
            parts = [out for _, out in folds.split(rows, codes[rows])]
        for out in parts:
            known = codes.copy()
            known[rows[out]] = -1
            for answer, opinion in zip(answers, opinions, strict=True):
                answer[repeat, out] = opinion.learn(known)(rows[out])
            n_asked += 1
            if progress is not None:  # all labels are learnt from once more at the end
                progress.advance(n_asked / (len(parts) * n_repeats + 1))
    return rows, answers


def log_likelihood(answers: Floats, truth: Codes, weights: Floats) -> float:
    """Return the log-likelihood of held-out labels under weighed opinions, mean of the repeats."""
    pooled = log_softmax(np.tensordot(weights, answers, axes=1), axis=-1)
    return float(pooled[:, np.arange(len(truth)), truth].sum() / len(pooled))


def fit_weights(
    answers: Floats, truth: Codes, strength: float, shares: Floats | None = None
) -> Floats:
    r"""Return the weights of a logarithmic opinion pool.

    .. math:: g(y|x) \propto \prod_s p_s(y|x)^{w_s}, \quad
        w = \arg\max_{w \ge 0} \; \sum_n \log g(y_n|x_n) - \lambda \sum_s (w_s - a_s)^2

    Parameters
    ----------
    answers : ndarray of shape (n_opinions, n_repeats, n_hidden, n_classes)
        Log-probabilities of held-out rows.
    truth : ndarray of shape (n_hidden,)
        Their labels.
    strength : float
        :math:`\lambda`: how strongly weights are drawn towards their shares.
    shares : ndarray of shape (n_opinions,), optional
        The weights :math:`a_s` to expect, divided by their sum first; equal by default.

    Returns
    -------
    weights : ndarray of shape (n_opinions,)
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([0, 1, 0, 1])
    >>> right = np.log(np.where(np.eye(2)[truth] == 1, 0.9, 0.1))
    >>> answers = np.stack([right, np.full((4, 2), np.log(0.5))])[:, None]
    >>> fit_weights(answers, truth, strength=0.1).round(1)
    array([1.6, 0.5])
    """
    n_opinions, n_repeats = answers.shape[:2]
    expected = np.ones(n_opinions) if shares is None else shares
    expected = expected / expected.sum()
    one_hot = np.eye(answers.shape[-1])[truth]  # (n_hidden, n_classes)

    def loss(weights: Floats) -> tuple[float, Floats]:
        pooled = log_softmax(np.tensordot(weights, answers, axes=1), axis=-1)
        away = weights - expected
        value = -(one_hot * pooled).sum() / n_repeats + strength * (away**2).sum()
        slope = -((one_hot - np.exp(pooled)) * answers).sum(axis=(1, 2, 3)) / n_repeats
        return float(value), slope + 2 * strength * away

    bounds = [(0, None)] * n_opinions
    exact = {"ftol": 1e-15, "gtol": 1e-10}  # the same weights on every processor
    found = minimize(loss, expected, jac=True, method="L-BFGS-B", bounds=bounds, options=exact)
    return np.asarray(found.x)


@dataclass(frozen=True)
class Verdict:
    """What held-out labels say about the opinions.

    Attributes
    ----------
    weights : ndarray of shape (n_opinions,)
        The weights of the pool; 0 for an opinion that is left out.
    accuracy, log_loss : ndarray of shape (n_opinions,)
        Of each opinion alone on held-out labels; NaN if no label could be hidden.
    """

    weights: Floats
    accuracy: Floats
    log_loss: Floats


def judge(opinions: Sequence[Opinion], answers: Floats, truth: Codes, strength: float) -> Verdict:
    """Weigh opinions by held-out labels.

    An opinion that learns from unlabelled rows is left out if it is no better than chance. All
    of them are left out unless held-out labels are clearly more probable with them than without.

    Parameters
    ----------
    opinions : sequence of Opinion
        The opinions.
    answers, truth : ndarray
        Their log-probabilities of held-out rows, and the labels; see `held_out`.
    strength : float
        See `fit_weights`.

    Returns
    -------
    verdict : Verdict
        The weights, and how good each opinion is alone.
    """
    n_opinions, _, n_hidden, n_classes = answers.shape
    shares = np.array([opinion.share for opinion in opinions])
    if n_hidden == 0:
        unknown = np.full(n_opinions, np.nan)
        return Verdict(shares / shares.sum(), unknown, unknown)
    chance = -n_hidden * np.log(n_classes)
    alone = np.array([answer[None] for answer in answers])
    best = [max(log_likelihood(a, truth, np.array([p])) for p in POWERS) for a in alone]
    from_labels = np.array([opinion.from_labels for opinion in opinions])

    def pool(kept: NDArray[np.bool_]) -> Floats:
        weights = np.zeros(n_opinions)
        if kept.any():
            weights[kept] = fit_weights(answers[kept], truth, strength, shares[kept])
        return weights

    weights = pool(from_labels | (np.array(best) > chance))
    labels_alone = pool(from_labels)
    gain = log_likelihood(answers, truth, weights) - log_likelihood(answers, truth, labels_alone)
    if from_labels.any():
        weights = labels_alone if gain < LEAST_GAIN else weights
        weights = _not_too_small(weights, shares * from_labels)
    return Verdict(
        weights,
        accuracy=(answers.argmax(axis=-1) == truth).mean(axis=(1, 2)),
        log_loss=np.array([-log_likelihood(a, truth, np.ones(1)) / n_hidden for a in alone]),
    )


def _not_too_small(weights: Floats, shares: Floats) -> Floats:
    """Return weights that sum up to `LEAST_WEIGHT` at least; the given shares if all are 0."""
    total = weights.sum()
    if total >= LEAST_WEIGHT:
        return weights
    kept = weights if total > np.finfo(np.float32).eps else shares
    return LEAST_WEIGHT * kept / kept.sum()

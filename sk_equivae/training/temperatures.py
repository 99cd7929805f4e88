r"""The search for temperatures: numbers that make probabilities agree best with beliefs.

.. math:: T = \arg\min_T \; - \sum_n \sum_y b_n(y) \log \mathrm{softmax}(l_n / T)_y

where l are the logits of a rule and b is what is believed of a row. The likelihood rule has a
second number of this kind, the weight of v; see `bound_by_class`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

Floats = NDArray[np.floating[Any]]

# How strongly a temperature is drawn towards 1, which matters for few rows only.
STRENGTH = 0.1
LOWEST, HIGHEST = 0.05, 100.0
# Size of the first step of the search for the two numbers of the likelihood rule, in logarithms.
FIRST_STEP = 0.5


def best_temperature(parts: Sequence[tuple[Floats, Floats, float]]) -> float:
    """Return the temperature at which logits agree best with beliefs.

    Parameters
    ----------
    parts : list of tuple
        Logits and class probabilities of rows, both of shape (n, n_classes), and the weight of
        each of them.

    Returns
    -------
    temperature : float
        A number between 0.05 and 100.

    Examples
    --------
    >>> import numpy as np
    >>> beliefs = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> logits = 5 * np.log(beliefs)
    >>> round(best_temperature([(logits, beliefs, 1000.0)]), 2)
    5.0
    >>> round(best_temperature([(logits, beliefs, 1.0)]), 2)  # too few to be sure
    3.74
    """

    def loss(log_temperature: float) -> float:
        return disagreement(parts, log_temperature) + STRENGTH * log_temperature**2

    bounds = (float(np.log(LOWEST)), float(np.log(HIGHEST)))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x))


def best_likelihood(parts: list[tuple[Floats, Floats, Floats, float]]) -> tuple[float, float]:
    r"""Return the temperature of the likelihood rule, and the weight of the divergence in it.

    Both are drawn towards 1 as a temperature is.

    Parameters
    ----------
    parts : list of tuple
        log p(x|r_y,v) + log p(y), KL[q(v|r_y,x) || p(v|y)] and class probabilities of rows, all
        of shape (n, n_classes), and the weight of each row.

    Returns
    -------
    temperature, weight : float
        Numbers between 0.05 and 100.

    Examples
    --------
    >>> import numpy as np
    >>> beliefs = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> density = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    >>> kl = (density - 5 * np.log(beliefs)) / 2
    >>> [round(value, 1) for value in best_likelihood([(density, kl, beliefs, 1000.0)])]
    [5.0, 2.0]
    """

    def loss(logs: Floats) -> float:
        log_temperature, log_weight = logs
        scored = [(d - np.exp(log_weight) * kl, *rest) for d, kl, *rest in parts]
        pull = STRENGTH * (log_temperature**2 + log_weight**2)
        return disagreement(scored, float(log_temperature)) + pull

    bounds = [(float(np.log(LOWEST)), float(np.log(HIGHEST)))] * 2
    # if wrong rows are extremely sure, the loss is flat around 1
    bounds_of_rows = [(d - kl, beliefs, weight) for d, kl, beliefs, weight in parts]
    log_temperature = np.log(best_temperature(bounds_of_rows))
    inwards = -np.copysign(FIRST_STEP, log_temperature)
    found = []
    for start in (0.0, log_temperature):
        simplex = [[start, 0.0], [start + inwards, 0.0], [start, FIRST_STEP]]
        options = {"xatol": 1e-4, "fatol": 1e-6, "initial_simplex": simplex}
        first = np.array(simplex[0])
        found.append(minimize(loss, first, method="Nelder-Mead", bounds=bounds, options=options))
    temperature, weight = np.exp(min(found, key=lambda result: result.fun).x)
    return float(temperature), float(weight)


def disagreement(parts: Sequence[Any], log_temperature: float) -> float:
    """Return the cross-entropy of logits by beliefs, a sum over rows."""
    total = 0.0
    for logits, beliefs, weight in parts:
        # a class without a prototype has the logit -inf
        log_p = np.maximum(log_softmax(logits / np.exp(log_temperature), axis=1), -1e4)
        total -= weight * float((beliefs * log_p).sum())
    return total

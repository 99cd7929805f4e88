"""Numbers for the tables: means, worst draws, paired tests."""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

DASH = "-"
# Below this a Wilcoxon test cannot reach 0.05, whatever the differences are.
MIN_WILCOXON = 6


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; 0 for one value."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


def summary(values: Sequence[float], decimals: int = 2, worst: bool = True) -> str:
    """Mean ± standard error, the worst of the draws, and how many there are.

    Examples
    --------
    >>> summary([1.0, 2.0, 3.0]), summary([3.24]), summary([])
    ('2.00 ± 0.58, worst 3.00 (3)', '3.24 (1)', '-')
    """
    if not len(values):
        return DASH
    mean = f"{np.mean(values):.{decimals}f}"
    if len(values) == 1:
        return f"{mean} (1)"
    most = f", worst {max(values):.{decimals}f}" if worst else ""
    return f"{mean} ± {standard_error(values):.{decimals}f}{most} ({len(values)})"


def paired_p_value(differences: Sequence[float]) -> float | None:
    """Of a two-sided test that paired differences are 0; None if there are too few.

    Wilcoxon's signed-rank test from 6 pairs on, below that a t-test.

    Examples
    --------
    >>> paired_p_value([1, 2, 3, 4, 5, 6]), paired_p_value([1.0]), paired_p_value([0, 0])
    (0.03125, None, 1.0)
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return None
    if not values.any():
        return 1.0
    if len(values) >= MIN_WILCOXON:
        with warnings.catch_warnings():  # of ties, for which it takes an approximation
            warnings.simplefilter("ignore")
            return float(stats.wilcoxon(values, zero_method="zsplit").pvalue)
    if values.std() == 0:
        return None
    return float(stats.ttest_1samp(values, 0).pvalue)


def comparison(ours: dict[int, float], theirs: dict[int, float]) -> str:
    """How far the first is ahead, by errors of the same seeds.

    Examples
    --------
    >>> comparison({0: 1.0, 1: 2.0, 2: 1.5}, {0: 4.0, 1: 4.5, 2: 4.0})
    'ahead by 2.67, 3 of 3, p = 0.004'
    >>> comparison({0: 1.0}, {1: 4.0})
    '-'
    """
    seeds = sorted(ours.keys() & theirs.keys())
    differences = [theirs[seed] - ours[seed] for seed in seeds]
    if not differences:
        return DASH
    mean = float(np.mean(differences))
    word = "ahead" if mean > 0 else "behind" if mean < 0 else "level"
    n_ahead = sum(d > 0 for d in differences) if mean >= 0 else sum(d < 0 for d in differences)
    p = paired_p_value(differences)
    text = f"{word} by {abs(mean):.2f}, {n_ahead} of {len(seeds)}"
    return text if p is None else f"{text}, p = {p:.3f}" if p >= 0.001 else f"{text}, p < 0.001"

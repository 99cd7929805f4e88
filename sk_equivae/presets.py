"""Parameters of the estimators for the experiments of the paper."""

from typing import Any

# Parameters that all experiments share (Appendix B).
PAPER: dict[str, Any] = {
    "objective": "paper",
    "networks": "paper",
    "augment": None,
    "lr": 1e-3,
    "batch_size": 32,
}
# Number of epochs by the number of labels; None stands for all labels (Sections 3.1 and 3.2).
EPOCHS: dict[str, dict[int | None, int]] = {
    "mnist": {None: 40, 100: 20, 600: 25, 1000: 30, 3000: 35},
    "svhn": {None: 90, 1000: 20, 3000: 30},
}


def paper(dataset: str = "mnist", n_labels: int | None = None) -> dict[str, Any]:
    """Return the parameters of an experiment of the paper.

    With few labels they depart from the paper in two things: a weight on log q(y|x) of labelled
    rows, and 200 batches of labelled rows alone at the start. docs/paper_settings.md lists these,
    and what the paper leaves open. Predictions are by q(y|x) with few labels, and by distance with
    all.

    Parameters
    ----------
    dataset : {"mnist", "svhn"}, default="mnist"
        The data set.
    n_labels : int, default=None
        Total number of labels; None for all. A number that is not in the paper is replaced by
        the next smaller one, or by the smallest.

    Returns
    -------
    parameters : dict of str to object
        Parameters of `EquiVAEClassifier` or `EquiVAETransformer`.

    Examples
    --------
    >>> from sk_equivae import EquiVAEClassifier
    >>> from sk_equivae.presets import paper
    >>> EquiVAEClassifier(**paper("mnist", n_labels=100)).max_epochs
    20
    """
    if dataset not in EPOCHS:
        raise ValueError(f"dataset should be one of {sorted(EPOCHS)}; got {dataset!r}.")
    epochs = EPOCHS[dataset]
    numbers = sorted(n for n in epochs if n is not None)
    known = None if n_labels is None else max([n for n in numbers if n <= n_labels] or numbers[:1])
    if dataset == "svhn":
        sizes = {"latent_dim": 16, "m_max": 10}
    else:
        sizes = {"latent_dim": 16, "m_max": 7} if known is None else {"latent_dim": 8, "m_max": 4}
    if known is None:
        return {**PAPER, **sizes, "max_epochs": epochs[known]}
    few = {
        "batch_size": 2 * PAPER["batch_size"],  # 32 labelled and 32 unlabelled rows
        "predict_with": "posterior",
    }
    return {**PAPER, **sizes, **few, "max_epochs": epochs[known]}

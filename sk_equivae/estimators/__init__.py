"""The estimators of the scikit-learn API: parameters, validation, `fit`, and methods after it.

Reading order: `labels`, `frames`, `tables`, `inputs`, `mistakes`, `reading`, `parameters`,
`going_on`, `base`, `representation`, `generative`, `imputing`, `storage`, `classifier`,
`transformer`, `imputer`.
"""

from pathlib import Path
from typing import Any

from .classifier import EquiVAEClassifier
from .imputer import EquiVAEImputer
from .storage import from_archive
from .transformer import EquiVAETransformer

__all__ = ["EquiVAEClassifier", "EquiVAEImputer", "EquiVAETransformer", "load"]


def load(path: Any, *, objects: dict[str, Any] | None = None, device: str = "auto") -> Any:
    """Read a fitted estimator from a file written by its method `save`.

    Reading a file neither executes code in it nor imports anything that it names.

    Parameters
    ----------
    path : path-like
        The file.
    objects : dict, default=None
        Your own networks and other objects, of which the file holds only names. For example
        `{"networks.invariant_body": Body}`.
    device : str, default="auto"
        Device of the networks: "cpu", "cuda", ... "auto" is the best available one.

    Returns
    -------
    estimator : EquiVAEClassifier or EquiVAETransformer
        The fitted estimator. It has no `net_`, `evidence_`, `transduction_` or
        `transduction_proba_`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sk_equivae import EquiVAETransformer, load
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.equivae")
    ...     load(Path(folder) / "iris.equivae")
    EquiVAETransformer(latent_dim=2, max_epochs=1, random_state=0)
    """
    classes = {cls.__name__: cls for cls in (EquiVAEClassifier, EquiVAETransformer)}
    return from_archive(Path(path), classes, objects or {}, device)

"""`EquiVAETransformer`."""

from .parameters import with_parameters
from .storage import StorableEstimator


@with_parameters
class EquiVAETransformer(StorableEstimator):
    """Transformer to what the class of a row has in common, or to what varies within it.

    The same model as `EquiVAEClassifier`, for use before another estimator.

    {parameters}

    See Also
    --------
    EquiVAEClassifier : The same model with `predict`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sk_equivae import EquiVAETransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> transformer = EquiVAETransformer(latent_dim=(2, 3), representation="both", random_state=0)
    >>> transformer.fit_transform(X, y).shape
    (150, 5)
    >>> transformer.get_feature_names_out()
    array(['r0', 'r1', 'v0', 'v1', 'v2'], dtype=object)
    """

"""`EquiVAETransformer`."""

from .parameters import with_parameters
from .storage import StorableEstimator


@with_parameters
class EquiVAETransformer(StorableEstimator):
    """Transformer to representations of what a class has in common, and of what varies in it.

    The model describes a row x of class y by two representations. r_y, shared by all rows of
    the class, is *invariant*: it is computed from other rows of the class. v is *equivariant*: it
    describes what varies within a class, such as the style of handwriting. In the parameters
    and methods below,

    - f_inv(x) is the invariant representation of a single row; it lies close to r_y;
    - p(y) are the class frequencies, and p(v) = N(0, I) is the prior of v;
    - p(x|r_y,v) is the decoder, which generates rows;
    - q(v|r_y,x) and q(y|x) are the encoders, which infer v and the class of a row.

    `transform` returns f_inv(x), v or both. The model is that of `EquiVAEClassifier`. Equation
    numbers refer to the paper, Feige (2019), "Invariant-equivariant representation learning for
    multi-class data".

    {parameters}

    See Also
    --------
    EquiVAEClassifier : The same model as a classifier.

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

"""The documentation of the parameters, one text for both estimators."""

from typing import TypeVar

PARAMETERS = """Parameters
----------
latent_dim : int or (int, int), default=16
    **Start here.** Size of the two representations, or a pair (invariant, equivariant).
    Fewer for a picture of the latent space, more for rows with much variety.

m_max : int, default=7
    **Start here.** Each row is reconstructed with an r made of m other rows of its class;
    m is drawn from 1, ..., m_max at each step. Lower it if classes have few labelled rows.

image_shape : tuple, default=None
    **Data.** (h, w) or (h, w, c): rows of a 2-D X are flattened images. X of shape
    (n, h, w) or (n, h, w, c) needs none. Without either, rows are tabular and the networks
    dense.

likelihood : {"auto", "bernoulli", "gaussian"}, default="auto"
    **Data.** Of the pixels or features. "bernoulli" takes values in [0, 1] or uint8.
    "gaussian" standardises each feature (each channel of images). "auto" is "bernoulli" for
    values in [0, 1] that are nearly binary (like handwriting, unlike photographs), else
    "gaussian".

unlabeled : object, default=-1
    **Data.** Marks unlabelled rows in y, as None and NaN do. None: every row is labelled,
    and -1 may be a class.

predict_with : {"prototype", "posterior", "likelihood"}, default="prototype"
    **Answers.** How a row gets its class: softmax(-||f_inv(x) - r_y||^2); q(y|x); or p(y|x)
    by the bound on p(x, y). Can be changed after `fit`.

representation : {"invariant", "equivariant", "both"}, default="invariant"
    **Answers.** What `transform` returns: f_inv(x), v, or the two side by side. Can be
    changed after `fit`.

objective : {"auto", "paper"} or Objective, default="auto"
    **Learning.** What training maximises. "paper" is the paper's objective. See `Objective`
    for its fields, which can be set and searched as `objective__label_weight`.

networks : {"auto", "paper"} or Networks, default="auto"
    **Learning.** Sizes of the networks, or networks of your own. "paper" is the paper's
    Appendix B. See `Networks` for its fields, as `networks__dropout`.

augment : {"auto", "affine", "swap", None} or callable, default="auto"
    **Learning.** Random changes to what f_inv and q(y|x) see in training. "affine" or a
    `RandomAffine`: small rotations, scalings, shears and shifts of images. "swap" or a
    `SwapFeatures`: features of tabular rows that come from other rows. Any other callable
    takes and returns a batch tensor (n, c, h, w) or (n, n_features). "auto": "affine" for
    images; "swap" for tabular rows if some are unlabelled. Set it to None if the changes
    would turn one class into another.

max_epochs : int or "auto", default="auto"
    **Learning.** Passes over the data (over the unlabelled rows, if there are any). "auto"
    is 15; more for few rows, until 20,000 have been seen (5,000 of tabular rows that are
    all labelled); fewer for many, until 500,000 have been seen (150,000 if some are
    unlabelled), at least 2. `partial_fit` is always one pass.

batch_size : int, default=64
    **Learning.** Rows per batch at the start; `Objective.max_batch_size` says how it grows.

lr : float, default=3e-3
    **Learning.** Learning rate of Adam. Lower it if training diverges.

early_stopping : bool, default=False
    **Learning.** Set a part of the labelled rows aside, stop when the objective on it has
    not improved for `n_iter_no_change` epochs, and keep the best epoch's weights. For many
    labels.

validation_fraction : float, default=0.1
    **Learning.** The part of the labelled rows that is set aside, stratified; at least one
    row per class.

n_iter_no_change : int, default=10
    **Learning.** Epochs to wait for an improvement.

callbacks : list, default=None
    **Running.** skorch callbacks, or pairs of a name and a callback.

warm_start : bool, default=False
    **Running.** Go on from the weights of the last `fit`. Parameters that shape the networks
    cannot change then.

device : str, default="auto"
    **Running.** Where to compute: "cpu", "cuda", "cuda:1", "mps", ... "auto" takes the best
    there is.

dtype : {"float32", "float64"}, default="float32"
    **Running.** Of the weights and of all computations.

random_state : int, RandomState instance or None, default=None
    **Running.** The one seed: of weights, batches and noise. Pass an int for results that
    can be repeated.

verbose : int, default=0
    **Running.** 1 shows a progress bar, 2 prints a line per epoch as well.

Attributes
----------
classes_ : ndarray of shape (n_classes,)
    The labels.

class_count_ : ndarray of shape (n_classes,)
    Total weight of the labelled rows per class.

class_prior_ : ndarray of shape (n_classes,)
    Relative frequency of the classes among labelled rows, p(y).

prototypes_ : ndarray of shape (n_classes, n_invariant)
    r_y of each class.

v_mean_ : ndarray of shape (n_classes, n_equivariant)
    Mean of v within each class.

v_covariance_ : ndarray of shape (n_classes, n_equivariant, n_equivariant)
    Covariance of v within each class.

transduction_ : ndarray of shape (n,)
    A label for each training row: its own, or the predicted one.

history_ : list of dict
    One dict per epoch, with the terms of the objective for training and validation; see
    `sk_equivae.model.bounds` and `sk_equivae.training.terms` for what they mean.
    `pandas.DataFrame(history_)` is a table.

n_iter_ : int
    Number of epochs.

n_features_in_ : int
    Number of features of a row; of a flattened image.

feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if X had names.

model_ : FittedModel
    All that is needed after `fit`.

net_ : skorch.NeuralNetClassifier
    The net that trained. Pickled estimators come back without it.
"""

Class = TypeVar("Class", bound=type)


def with_parameters(cls: Class) -> Class:
    """Put the text in the place of `{parameters}` in the docstring of a class."""
    text = PARAMETERS.replace("\n", "\n    ").replace("\n    \n", "\n\n").rstrip()
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text)
    return cls

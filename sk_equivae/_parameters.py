"""The parameters that both estimators share: what they may be, and their documentation."""

import inspect
from numbers import Integral, Real
from typing import Any, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

CONSTRAINTS: dict[str, Any] = {
    "latent_dim": [Interval(Integral, 1, None, closed="left"), tuple, list],
    "m_max": [Interval(Integral, 1, None, closed="left")],
    "image_shape": [None, tuple, list],
    "likelihood": [StrOptions({"auto", "bernoulli", "gaussian"})],
    "representation": [StrOptions({"invariant", "equivariant", "both"})],
    "unlabeled": "no_validation",
    "max_epochs": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "max_batch_size": [None, StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "lr_decay": [None, StrOptions({"cosine"})],
    "kl_warmup": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    "ema_decay": [Interval(Real, 0, 1, closed="left")],
    "gradient_clip": [None, Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "augment": [None, StrOptions({"auto", "affine"}), callable],
    "complement_pool": [StrOptions({"labeled", "confident"})],
    "confidence": [Interval(Real, 0, 1, closed="both")],
    "distribution_alignment": ["boolean"],
    "label_spreading": ["boolean"],
    "class_threshold": [Interval(Real, 0, 1, closed="left")],
    "labeled_share": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    "label_weight": [Interval(Real, 0, None, closed="left")],
    "consistency_weight": [Interval(Real, 0, None, closed="left")],
    "prototype_weight": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "batch_norm": ["boolean"],
    "invariant_body": [None, callable],
    "equivariant_body": [None, callable],
    "posterior_body": [None, callable],
    "decoder": [None, callable],
    "device": [str],
    "dtype": [StrOptions({"float32", "float64"})],
    "amp": ["boolean", StrOptions({"auto"})],
    "compile": ["boolean"],
    "callbacks": [None, list],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

PARAMETERS = """Parameters
----------
latent_dim : int or (int, int), default=16
    Size of the two representations, or a pair (invariant, equivariant). The dense
    layers have (128, 64) units, half of it for sizes up to 8.

m_max : int, default=7
    Each row is reconstructed with an r made of m other rows of its class; m is
    drawn from 1, ..., m_max at each step.

image_shape : tuple, default=None
    (h, w) or (h, w, c): rows of a 2-D X are flattened images. X of shape (n, h, w) or
    (n, h, w, c) needs none. Otherwise rows are tabular, and the networks dense.

likelihood : {"auto", "bernoulli", "gaussian"}, default="auto"
    Of the pixels or features. "bernoulli" takes values in [0, 1] or uint8. "gaussian"
    standardises each feature (each channel of images). "auto" is "bernoulli" for values
    in [0, 1] that are nearly binary (like handwriting, not like photographs), else
    "gaussian".

representation : {"invariant", "equivariant", "both"}, default="invariant"
    What `transform` returns: f_inv(x), v, or the two side by side.
{predict_with}
unlabeled : object, default=-1
    Marks unlabelled rows in y, as None and NaN do. None: every row is labelled, and -1
    may be a class.

max_epochs : int or "auto", default="auto"
    Passes over the data (over the unlabelled rows, if there are any). "auto" is 15; more
    for few rows, until 20,000 have been seen (5,000 of tabular rows that are all labelled);
    fewer for many, until 500,000 have been seen (150,000 if some are unlabelled), at
    least 2.

batch_size : int, default=64
    Rows of a batch at the start. With unlabelled rows, at least a third of a batch is
    labelled as long as there are so many.

max_batch_size : int, "auto" or None, default="auto"
    The batch size doubles up to this over training, at equal intervals, as in the paper.
    "auto" is 256, or as much of it as leaves 100 batches an epoch. None: it stays.

lr : float, default=3e-3
    Learning rate of Adam.

lr_decay : {"cosine", None}, default="cosine"
    How the learning rate falls over training. Not used by `partial_fit`.

kl_warmup : float in [0, 1] or "auto", default="auto"
    The part of training over which the weight of KL[q(v|r_y,x) || p(v)] rises from 0 to
    1, so that v is of use before it costs. "auto": 0.4 for images, 0 for tabular rows.
    0 in the paper. Not used by `partial_fit`.

ema_decay : float in [0, 1), default=0.99
    Decay of the moving average of the weights, which labels the unlabelled rows during
    training and predicts after it. 0: no average, and q(y|x) of the module itself is
    learnt through the bound, as in the paper.

gradient_clip : float or None, default=None
    Largest norm of the gradient.

early_stopping : bool, default=False
    Set a part of the labelled rows aside, stop when the objective on it has not
    improved for `n_iter_no_change` epochs, and keep the best epoch's weights.

validation_fraction : float, default=0.1
    The part of the labelled rows, stratified; at least one row a class.

n_iter_no_change : int, default=10
    Epochs to wait for an improvement.

augment : {"auto", "affine", None} or callable, default="auto"
    Random changes to what f_inv and q(y|x) see in training. "affine": small rotations,
    scalings, shears and shifts of images. A callable takes and returns a batch tensor
    (n, c, h, w) or (n, n_features). "auto": "affine" for images; for tabular rows a
    tenth of the features comes from other rows if some rows are unlabelled, else None.

complement_pool : {"confident", "labeled"}, default="confident"
    Who may stand in for other rows of a class: labelled rows and those unlabelled
    ones whose q(y|x) reaches `confidence`, or, as in the paper, labelled rows only.

confidence : float in [0, 1], default=0.8
    From which q(y|x) on an unlabelled row counts as one of a class.

distribution_alignment : bool, default=True
    Correct q(y|x) of unlabelled rows in training so that, on average, classes are as
    frequent as among the labelled rows. Set it to False if you know that they are not.

label_spreading : bool, default=True
    If at most one row in six is labelled: before training, spread the labels over a graph
    of nearest neighbours (of some 65,000 rows at most), and in training multiply q(y|x) of
    unlabelled rows by the result. How far it is trusted is found by holding labels out. Of
    tabular rows the result is mixed with that of a linear discriminant that has learnt from
    the graph, unless it would part many neighbours. Not used by `partial_fit`, nor if
    `ema_decay` is 0.

class_threshold : float in [0, 1), default=0.01
    Classes with a smaller q(y|x), and all but the three most probable, are left out of the
    sum over classes (Eq. 6). 0 is the exact sum.

labeled_share : float or "auto", default="auto"
    What part of the bound on all rows (Eq. 7) the labelled rows make up. "auto": their
    share of the rows, as the equation says.

label_weight : float, default=1.0
    Weight of log q(y|x) of labelled rows.

consistency_weight : float, default=1.0
    Weight of log q(y|x) of confident unlabelled rows, as the averaged model labels
    them and the augmented row shows them. 0 in the paper.

prototype_weight : float or "auto", default="auto"
    Weight of the log-probability of a row's class by its distance to the classes and,
    three times that, by a linear function of f_inv(x), which finds the classes sooner.
    "auto": n_features / 12, at least 1. 0 in the paper.

batch_norm : bool, default=True
    Batch normalisation in the convolutions of f_inv(x) and q(y|x). False in the paper.

invariant_body, equivariant_body, posterior_body : module or callable, default=None
    Networks to use instead of the paper's convolutions (dense layers for tabular rows).
    A `torch.nn.Module` is copied; a class or function is called with the shape of a row,
    (c, h, w) or (n_features,). Either keeps its weights. Maps (n, *shape) to (n, ...).

decoder : module or callable, default=None
    Network to use instead of the transposed convolutions. Likewise; a class or
    function is called with the number of inputs and the shape of a row. Maps
    (n, n_inputs) to (n, *shape): logits for a Bernoulli, means for a Gaussian.

device : str, default="auto"
    Where to compute: "cpu", "cuda", "cuda:1", "mps", ... "auto" takes the best there is.

dtype : {"float32", "float64"}, default="float32"
    Of the weights and of all computations.

amp : bool or "auto", default="auto"
    Compute the convolutions in bfloat16. "auto": on CUDA devices that are made for it.

compile : bool, default=False
    Compile the networks with `torch.compile`. Pays for long trainings on a GPU; where it
    cannot work there is a warning, and training goes on without.

callbacks : list, default=None
    skorch callbacks, or pairs of a name and a callback.

warm_start : bool, default=False
    Go on from the weights of the last `fit`.

random_state : int, RandomState instance or None, default=None
    The one seed: of weights, batches and noise.

verbose : int, default=0
    1 shows a progress bar, 2 prints a line an epoch as well.

Attributes
----------
classes_ : ndarray of shape (n_classes,)
    The labels.

class_prior_ : ndarray of shape (n_classes,)
    Relative frequency of the classes among labelled rows, p(y).

prototypes_ : ndarray of shape (n_classes, n_invariant)
    r_y of each class.

v_mean_, v_covariance_ : ndarray of shape (n_classes, n_equivariant[, n_equivariant])
    Mean and covariance of v within each class.

transduction_ : ndarray of shape (n,)
    A label for each training row: its own, or the predicted one.

history_ : list of dict
    One for each epoch, with the terms of the objective for training and validation;
    see `sk_equivae._objective`. `pandas.DataFrame(history_)` is a table.

n_iter_ : int
    Number of epochs.

n_features_in_ : int
    Number of features of a row; of a flattened image.

feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of features, if X had names.

net_ : skorch.NeuralNet
    The trained net.
"""

PREDICT_WITH = """
predict_with : {"prototype", "posterior", "likelihood"}, default="prototype"
    softmax(-||f_inv(x) - r_y||^2); q(y|x); or p(y|x) by the bound on p(x, y).
"""

Class = TypeVar("Class", bound=type)


def with_parameters(cls: Class) -> Class:
    """Put the text in the place of `{parameters}` in the docstring of a class."""
    has_rule = "predict_with" in inspect.signature(cls).parameters
    text = PARAMETERS.replace("{predict_with}", PREDICT_WITH if has_rule else "")
    text = text.replace("\n", "\n    ")
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text.rstrip())
    return cls

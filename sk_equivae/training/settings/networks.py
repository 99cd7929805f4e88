"""`Networks`: sizes and parts of the networks."""

import math
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ...model.networks import Architecture
from .nested import NestedSettings

_POSITIVE = Interval(Integral, 1, None, closed="left")
# Smaller images are no photographs: there is too little to see on them.
SMALLEST_PHOTOGRAPH = 16
# Channels of a residual body, first and at most.
FIRST_WIDTH, LARGEST_WIDTH = 16, 128


def is_photograph(input_shape: tuple[int, ...]) -> bool:
    """Return whether rows are photographs: images of three or more channels and 16 pixels.

    Examples
    --------
    >>> is_photograph((3, 32, 32)), is_photograph((1, 32, 32)), is_photograph((3, 8, 8))
    (True, False, False)
    """
    if len(input_shape) != 3:
        return False
    channels, *size = input_shape
    return channels >= 3 and min(size) >= SMALLEST_PHOTOGRAPH


def auto_widths(input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `widths` for "auto": from 16, twice as many each time, up to 128.

    There is one number for the first convolution, and one for each time that the image is halved
    until it has about 4 pixels.

    Examples
    --------
    >>> auto_widths((3, 32, 32)), auto_widths((3, 96, 128))
    ((16, 32, 64, 128), (16, 32, 64, 128, 128, 128))
    """
    n_halvings = max(1, round(math.log2(min(input_shape[1:]) / 4)))
    return tuple(min(FIRST_WIDTH * 2**i, LARGEST_WIDTH) for i in range(n_halvings + 1))


class Networks(NestedSettings):
    """Sizes and parts of the networks; by default close to Appendix B of the paper.

    Photographs have residual networks by default. `networks="paper"` is Appendix B itself.

    Pass it to an estimator as `networks`. A grid search reaches its fields by names such as
    `networks__dropout`.

    Parameters
    ----------
    invariant_body, equivariant_body, posterior_body : module or callable, default=None
        Networks to use instead of the paper's convolutions (dense layers for tabular rows) in
        f_inv(x), q(v|r_y,x) and q(y|x). A `torch.nn.Module` is copied; a class or function is
        called with the shape of a row, (c, h, w) or (n_features,). Initial weights are kept, so
        the network may be pre-trained. It maps a tensor of shape (n, *shape) to (n, ...).
    decoder : module or callable, default=None
        Network to use instead of the transposed convolutions. A `torch.nn.Module` is copied; a
        class or function is called with the number of inputs and the shape of a row. It maps
        a tensor of shape (n, n_inputs) to (n, *shape): logits for a Bernoulli likelihood, means
        for a Gaussian one.
    body : {"auto", "paper", "residual"}, default="auto"
        The networks that turn images into features in f_inv(x) and q(y|x), unless you pass your
        own: the paper's convolutions, or a small residual network, which classifies photographs
        better. "auto" is "residual" for photographs, which are images of three or more channels
        and at least 16 pixels in height and width. The encoder of v has the paper's body.
    widths : tuple of int or "auto", default="auto"
        Number of channels of a residual body: in its first convolution, and in each stage. The
        first convolution and all stages but the first halve the image, as long as it has more
        than 4 pixels. "auto" is (16, 32, 64, 128) for 32 pixels, one more stage for twice the
        size, and never more than 128.
    depth : int, default=1
        Number of blocks in each stage of a residual body. A block has two convolutions.
    hidden : (int, int) or "auto", default="auto"
        Units of the two dense layers after a body. As in the paper, "auto" is (128, 64), or
        (64, 32) if both representations have at most 8 dimensions.
    posterior_hidden : (int, int) or None, default=None
        Units of the two dense layers of q(y|x) after the embedding of a row; None for `hidden`.
        (128, 64) in the paper.
    decoder_dense : bool, default=True
        Whether the decoder has a dense layer between its hidden layers and its transposed
        convolutions. False in the paper.
    filters : tuple of int, default=(8, 16, 32, 64, 64)
        Number of filters of each convolution; the decoder uses them in reverse. Increase them
        for images with much detail.
    kernel_size : int, default=5
        Size of the kernels of the convolutions; at most 3 for images smaller than 16 pixels.
    dense : int, default=128
        Units of the dense layers that replace the convolutions for tabular rows.
    batch_norm : bool, default=True
        Whether to use batch normalisation in the convolutions of f_inv(x) and q(y|x). A residual
        body always uses it. The encoder of v and the decoder never do, since it makes the bound
        worse. False in the paper.
    dropout : float in [0, 1), default=0.1
        Dropout rate in the dense layers of q(y|x). The paper uses dropout but gives no rate.
    first_log_variance : float, default=-3.0
        Log-variance of q(v|r_y,x) before training. A low value makes v informative from the
        first step. With unit variance the decoder learns to ignore v: the posterior collapses.
    log_scale_rate : float, default=10.0
        Factor by which the log standard deviation of a Gaussian likelihood learns faster than
        other parameters.
    min_scale : float, default=0.1
        Smallest standard deviation of a Gaussian likelihood, in units of the standard deviation
        of the feature. Without a limit the density of a constant feature would grow forever.
    amp : bool or "auto", default="auto"
        Whether to compute the bodies in bfloat16. "auto" does so on CUDA devices that support
        it natively.
    compile : bool, default=False
        Whether to compile the bodies with `torch.compile`, which pays off for long trainings on
        a GPU. If compilation fails, a warning is raised and training goes on without it.

    Examples
    --------
    >>> from sk_equivae import EquiVAEClassifier, Networks
    >>> EquiVAEClassifier(networks=Networks(dropout=0.5)).get_params()["networks__dropout"]
    0.5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "invariant_body": [None, callable],
        "equivariant_body": [None, callable],
        "posterior_body": [None, callable],
        "decoder": [None, callable],
        "body": [StrOptions({"auto", "paper", "residual"})],
        "widths": [StrOptions({"auto"}), tuple, list],
        "depth": [_POSITIVE],
        "hidden": [StrOptions({"auto"}), tuple, list],
        "posterior_hidden": [None, tuple, list],
        "decoder_dense": ["boolean"],
        "filters": [tuple, list],
        "kernel_size": [_POSITIVE],
        "dense": [_POSITIVE],
        "batch_norm": ["boolean"],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "first_log_variance": [Interval(Real, None, None, closed="neither")],
        "log_scale_rate": [Interval(Real, 0, None, closed="neither")],
        "min_scale": [Interval(Real, 0, None, closed="neither")],
        "amp": ["boolean", StrOptions({"auto"})],
        "compile": ["boolean"],
    }

    def __init__(
        self,
        *,
        invariant_body: Any = None,
        equivariant_body: Any = None,
        posterior_body: Any = None,
        decoder: Any = None,
        body: str = "auto",
        widths: Any = "auto",
        depth: int = 1,
        hidden: Any = "auto",
        posterior_hidden: Any = None,
        decoder_dense: bool = True,
        filters: Any = (8, 16, 32, 64, 64),
        kernel_size: int = 5,
        dense: int = 128,
        batch_norm: bool = True,
        dropout: float = 0.1,
        first_log_variance: float = -3.0,
        log_scale_rate: float = 10.0,
        min_scale: float = 0.1,
        amp: Any = "auto",
        compile: bool = False,
    ):
        self.invariant_body = invariant_body
        self.equivariant_body = equivariant_body
        self.posterior_body = posterior_body
        self.decoder = decoder
        self.body = body
        self.widths = widths
        self.depth = depth
        self.hidden = hidden
        self.posterior_hidden = posterior_hidden
        self.decoder_dense = decoder_dense
        self.filters = filters
        self.kernel_size = kernel_size
        self.dense = dense
        self.batch_norm = batch_norm
        self.dropout = dropout
        self.first_log_variance = first_log_variance
        self.log_scale_rate = log_scale_rate
        self.min_scale = min_scale
        self.amp = amp
        self.compile = compile

    def architecture(
        self, n_latents: tuple[int, int], input_shape: tuple[int, ...] = ()
    ) -> Architecture:
        """Check the fields, and return them with every "auto" resolved.

        Parameters
        ----------
        n_latents : (int, int)
            Sizes of r and v.
        input_shape : tuple, default=()
            Shape of a row, `(channels, height, width)` or `(n_features,)`.

        Returns
        -------
        architecture : Architecture
            Sizes and parts of the networks.
        """
        hidden = self.hidden
        if isinstance(hidden, str):
            hidden = (128, 64) if max(n_latents) > 8 else (64, 32)
        sizes = {**self.get_params(deep=False), "hidden": _ints("hidden", hidden, 2)}
        sizes["filters"] = _ints("filters", self.filters)
        if self.body == "auto":
            sizes["body"] = "residual" if is_photograph(input_shape) else "paper"
        if not isinstance(self.widths, str):
            sizes["widths"] = _ints("widths", self.widths)
        elif len(input_shape) == 3:
            sizes["widths"] = auto_widths(input_shape)
        else:
            del sizes["widths"]
        if self.posterior_hidden is not None:
            sizes["posterior_hidden"] = _ints("posterior_hidden", self.posterior_hidden, 2)
        if self.kernel_size % 2 == 0:
            raise ValueError(
                f"Networks expects kernel_size to be odd, such as 3 or 5; got {self.kernel_size}."
            )
        for name in ("amp", "compile"):
            del sizes[name]
        return Architecture(**sizes)


def _ints(name: str, values: Any, length: int | None = None) -> tuple[int, ...]:
    """Return a tuple of positive ints, or raise if the values are not."""
    of_length = (
        f"a tuple of {length} positive ints" if length else "a tuple of 2 or more positive ints"
    )
    is_right = len(values) == length if length else len(values) >= 2
    if not is_right or not all(isinstance(n, Integral) and int(n) > 0 for n in values):
        raise ValueError(f"Networks expects {name} to be {of_length}; got {values!r}.")
    return tuple(int(n) for n in values)


def paper_networks() -> Networks:
    """Return the networks of the paper's Appendix B.

    The paper does not say how much dropout q(y|x) has; 0.5 is what was usual. The decoder's
    hidden layer is reshaped to an image of 2 x 2 pixels, which four transposed convolutions of
    stride 2 enlarge; a convolution of stride 1 follows.
    """
    return Networks(
        body="paper",
        batch_norm=False,
        dropout=0.5,
        posterior_hidden=(128, 64),
        decoder_dense=False,
    )


NETWORKS = {"auto": Networks, "paper": paper_networks}

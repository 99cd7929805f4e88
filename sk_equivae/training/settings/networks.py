"""`Networks`: sizes and parts of the networks."""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ...model.networks import Architecture
from .nested import NestedSettings

_POSITIVE = Interval(Integral, 1, None, closed="left")


class Networks(NestedSettings):
    """Sizes and parts of the networks; Appendix B of the paper by default.

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
    hidden : (int, int) or "auto", default="auto"
        Units of the two dense layers after a body. As in the paper, "auto" is (128, 64), or
        (64, 32) if both representations have at most 8 dimensions.
    filters : tuple of int, default=(8, 16, 32, 64, 64)
        Number of filters of each convolution; the decoder uses them in reverse. Increase them
        for images with much detail.
    kernel_size : int, default=5
        Size of the kernels of the convolutions; at most 3 for images smaller than 16 pixels.
    dense : int, default=128
        Units of the dense layers that replace the convolutions for tabular rows.
    batch_norm : bool, default=True
        Whether to use batch normalisation in the convolutions of f_inv(x) and q(y|x). The
        encoder of v and the decoder never use it, since it makes the bound worse. False in
        the paper.
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
        "hidden": [StrOptions({"auto"}), tuple, list],
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
        hidden: Any = "auto",
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
        self.hidden = hidden
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

    def architecture(self, n_latents: tuple[int, int]) -> Architecture:
        """Check the fields, and return them with every "auto" resolved.

        Parameters
        ----------
        n_latents : (int, int)
            Sizes of r and v.

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
    """Return the networks of the paper's Appendix B."""
    return Networks(batch_norm=False)


NETWORKS = {"auto": Networks, "paper": paper_networks}

"""Fitted models as ONNX graphs, for use without Python and PyTorch.

A graph holds everything from the user's rows to the answer: normalisation, networks and
prototypes. PyTorch's exporter needs onnxscript, which is imported only when it is needed.
"""

import contextlib
import copy
import itertools
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from sklearn.utils.fixes import parse_version
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from .._version import __version__
from ..files.atomic import write_whole
from ..fitted.model import FittedModel
from ..fitted.rows import RowSpec
from ..model.bounds import LatentTerms, labeled_elbo
from ..model.distributions import kl_v, kl_within_class, likelihood_x
from ..model.module import EquiVAEModule
from ..model.rules import Styles, class_logits
from .float64 import for_float64
from .relative import relative_to_class

# Names of the inputs and of the output of each graph.
WHAT = {
    "predict_proba": (["X"], "probabilities"),
    "transform": (["X"], "Z"),
    "novelty_function": (["X"], "scores"),
    "decode": (["r", "v"], "X"),
}
# The oldest version of the operators that PyTorch's exporter writes: most runtimes read it.
OPSET = 18
# The exporters of 2.6 and 2.9 fix the number of rows, or fail; those between are untried.
MIN_TORCH = "2.13"


# -------------------------------------------------------------------- the graphs


class _Bounds:
    """A module whose logits of q(y | x) are the bounds on log p(x, y) instead.

    `class_logits` computes the bounds of one class after the other, which saves memory. In a
    graph every turn of that loop would be another copy of the decoder; here all pairs of a
    row and a class are one batch.
    """

    def __init__(self, module: EquiVAEModule, r: Tensor, log_prior: Tensor, styles: Styles | None):
        self.module, self.r, self.log_prior, self.styles = module, r, log_prior, styles
        self.f_inv = module.f_inv

    def classify(self, x: Tensor, f_inv: Tensor) -> Tensor:
        """Return the bounds, of shape (n, n_classes)."""
        n_rows, n_classes = x.shape[0], self.r.shape[0]  # len() would fix the number of rows

        def each_class(values: Tensor) -> Tensor:
            shape = (n_rows, n_classes, *values.shape[1:])
            return values.unsqueeze(1).expand(shape).flatten(0, 1)

        module, r = self.module, self.r.repeat(n_rows, 1)
        q_v = module.equivariant(each_class(module.equivariant.embed(x)), r)
        # in float64: onnxruntime's sums of many features are less exact than PyTorch's
        output, scale = module.decoder(r, q_v.mean).double(), module.decoder.scale.double()
        p_x = likelihood_x(module.likelihood, output, scale)
        kl = kl_v(q_v)
        if self.styles is not None:
            mean, stddev = (t.unflatten(0, (-1, n_classes)) for t in (q_v.mean, q_v.stddev))
            pairs = Independent(Normal(mean, stddev, validate_args=False), 1)  # (n, n_classes)
            kl = self.styles.weight * kl_within_class(pairs, self.styles.p_v).flatten()
        terms = LatentTerms(p_x.log_prob(each_class(x).double()), kl)
        return labeled_elbo(terms, self.log_prior.repeat(n_rows)).unflatten(0, (-1, n_classes))


class _FromRows(nn.Module):
    """From rows in the user's units to probabilities or representations."""

    def __init__(
        self, model: FittedModel, what: str, rule: str, representation: str, offset: float
    ):
        super().__init__()
        self.model, self.module = model, model.module
        self.what, self.rule, self.representation = what, rule, representation
        self.offset = offset

    def forward(self, X: Tensor) -> Tensor:
        """Return probabilities (n, n_classes), representations (n, n_components) or scores."""
        module = self.model.module
        x = self.model.rows.normalize(X.flatten(1), module.like.dtype)
        if self.what == "predict_proba":
            return self.model.probabilities(x, self._logits(x))
        if self.what == "novelty_function":
            return self.model.novelty_scores(x) - self.offset
        if self.representation == "invariant":
            return module.f_inv(x)
        prototypes = self.model.tensor(self.model.prototypes)
        codes = self._logits(x).argmax(dim=1)
        v = module.encode(x, prototypes[codes]).mean
        if self.representation == "latent":
            return torch.cat([prototypes[codes], v], dim=1)
        v = relative_to_class(self.model.relative, v, codes)
        return v if self.representation == "equivariant" else torch.cat([module.f_inv(x), v], 1)

    def _logits(self, x: Tensor) -> Tensor:
        model = self.model
        if self.rule != "likelihood":
            return model.class_logits(x, self.rule)
        prototypes, log_prior, trained = model.with_background()
        r = prototypes.nan_to_num()[trained]
        bounds = _Bounds(model.module, r, log_prior[trained], model.styles)
        module = cast(EquiVAEModule, bounds)
        scaling = model.scaling(self.rule)
        return class_logits(module, x, prototypes, log_prior, "posterior", trained, scaling)


class _ToRows(nn.Module):
    """From r and v to rows in the user's units."""

    def __init__(self, model: FittedModel):
        super().__init__()
        self.rows, self.module = model.rows, model.module

    def forward(self, r: Tensor, v: Tensor) -> Tensor:
        """Return rows in the user's shape, units and dtype, as `RowSpec.denormalize` does."""
        rows = self.rows
        x = self.module.decode(r, v).mean.double()
        X = x * torch.from_numpy(rows.scale) + torch.from_numpy(rows.shift)
        if rows.is_image:
            X = X.permute(0, 2, 3, 1)
        X = X.reshape(-1, *rows.row_shape)
        limits = rows.limits if rows.columns is None else rows.columns.limits
        if limits is not None:
            low, high = (torch.from_numpy(bound) for bound in limits.bounds)
            X = torch.where(torch.from_numpy(limits.integer), X.round(), X).clamp(low, high)
        if rows.dtype == np.uint8:
            X = X.round().clamp(0, 255)
        return X.to(_torch_dtype(rows))


def _torch_dtype(rows: RowSpec) -> torch.dtype:
    return torch.from_numpy(np.empty(0, rows.dtype)).dtype


# -------------------------------------------------------------------- export


def make_onnx(
    model: FittedModel,
    what: str,
    rule: str,
    representation: str,
    opset: int = OPSET,
    offset: float = 0.0,
) -> Any:
    """Return a graph of a fitted model.

    Parameters
    ----------
    model : FittedModel
        The model.
    what : {"predict_proba", "transform", "novelty_function", "decode"}
        What the graph computes.
    rule : {"prototype", "posterior", "likelihood"}
        How classes are predicted.
    representation : {"invariant", "equivariant", "both", "latent"}
        What "transform" computes.
    opset : int, default=18
        Version of ONNX's operators.
    offset : float, default=0.0
        The score below which rows are rejected, which "novelty_function" subtracts.

    Returns
    -------
    proto : onnx.ModelProto
        The graph, with labels and versions in its metadata.

    Raises
    ------
    ImportError
        If onnxscript is not installed, or PyTorch is too old.
    ValueError
        If the model was fitted on a table with categories or missing values.
    """
    if model.rows.layout is not None:
        raise ValueError(
            "Export to ONNX expects rows of numbers; this model was fitted on a table with "
            "categories or missing values, which no input of a graph can hold. Encode and impute "
            "them in a pipeline before the estimator, and export that with `sk_equivae.onnx`."
        )
    onnxscript = _import_onnxscript()
    # a copy without torch.compile, and on the CPU
    model = model.replace(module=copy.deepcopy(model.module).cpu())
    dtype, rows = model.module.like.dtype, model.rows
    network: nn.Module
    # more than one row: the exporter takes a size of 1 for a constant
    if what == "decode":
        network = _ToRows(model)
        example = tuple(torch.zeros(3, size, dtype=dtype) for size in model.module.n_latents)
    else:
        network = _FromRows(model, what, rule, representation, offset)
        example = (torch.zeros(3, *rows.row_shape, dtype=_torch_dtype(rows)),)
    inputs, output = WHAT[what]
    batch = torch.export.Dim("n")
    with torch.no_grad(), _quiet():
        program = torch.export.export(
            network.eval(), example, dynamic_shapes=[{0: batch} for _ in inputs], strict=False
        )
        if dtype == torch.float64 and rows.is_image:
            program = for_float64(program)
        exported = torch.onnx.export(
            program,
            dynamo=True,
            input_names=inputs,
            output_names=[output],
            opset_version=opset,
            verbose=False,
        )
    assert exported is not None
    proto = exported.model_proto
    _remove_traces(proto)
    notes = {
        "what": what,
        "predict_with": rule,
        "representation": representation,
        "classes": json.dumps(model.classes.tolist(), default=str),
        "temperature": json.dumps(dict(model.temperature)),
        "style_weight": json.dumps(model.style_weight),
        "offset": json.dumps(offset),
        "versions": json.dumps(
            {
                "sk_equivae": __version__,
                "torch": torch.__version__,
                "onnxscript": onnxscript.__version__,
            }
        ),
    }
    for name, note in notes.items():
        proto.metadata_props.add(key=f"sk_equivae.{name}", value=note)
    return proto


def write_onnx(
    path: Path, model: FittedModel, what: str, rule: str, representation: str, offset: float
) -> None:
    """Write a graph of a fitted model to a file, as a whole or not at all."""
    if what not in WHAT:
        raise ValueError(
            f"what should be one of {list(WHAT)}; got {what!r}. Pass what the graph shall compute."
        )
    graph = make_onnx(model, what, rule, representation, offset=offset)
    write_whole(path, graph.SerializeToString())


def _import_onnxscript() -> Any:
    if parse_version(torch.__version__) < parse_version(MIN_TORCH):
        raise ImportError(
            f"Export to ONNX needs PyTorch {MIN_TORCH} or newer, whose exporter leaves the number "
            f"of rows open; got {torch.__version__}."
        )
    try:
        import onnxscript
    except ImportError as error:
        raise ImportError(
            "Export to ONNX needs onnxscript, which PyTorch does not install: "
            "pip install 'sk-equivae[onnx]'."
        ) from error
    return onnxscript


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what the exporter says about itself."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    with warnings.catch_warnings():
        # torch's own use of what torch deprecates
        warnings.filterwarnings("ignore", r".*isinstance\(treespec, LeafSpec\)", FutureWarning)
        # the largest float64, by which an infinity in a prototype would be replaced
        warnings.filterwarnings("ignore", "overflow encountered in cast", RuntimeWarning)
        logger.setLevel(logging.ERROR)  # "torchvision is not installed"
        try:
            yield
        finally:
            logger.setLevel(level)


def _remove_traces(proto: Any) -> None:
    """Remove where in the source, on whose machine, each node came from."""
    graph = proto.graph
    for part in itertools.chain(
        (graph,), graph.node, graph.value_info, graph.input, graph.output, graph.initializer
    ):
        part.doc_string = ""
        del part.metadata_props[:]

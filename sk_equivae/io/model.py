"""A `FittedModel` as a manifest and tensors, and back."""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from ..files.archive import Tensors
from ..files.errors import ArchiveError
from ..fitted.columns import Columns
from ..fitted.model import FittedModel, for_inference
from ..fitted.rows import RowSpec
from ..model.distributions import LIKELIHOODS
from ..model.module import EquiVAEModule
from ..model.networks import Architecture
from ..training.device import resolve_device
from .columns import decode_columns, encode_columns
from .values import decode_all, decode_labels, encode_all, encode_labels

# Attributes of a `FittedModel` that are arrays.
ARRAYS = (
    "class_count", "class_prior", "class_embeddings", "prototypes", "v_mean", "v_covariance",
    "trained",
)  # fmt: skip
# Values of a row, at most; a larger number was made to exhaust memory.
MAX_ROW = 2**22


def encode_model(model: FittedModel) -> tuple[dict[str, Any], Tensors]:
    """Return a manifest and the tensors of a model."""
    module, rows = model.module, model.rows
    weights = module.state_dict()
    tensors: Tensors = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    tensors |= {"shift": rows.shift, "scale": rows.scale}
    tensors |= {f"module.{name}": value.cpu().numpy() for name, value in weights.items()}
    sizes = {f.name: getattr(module.sizes, f.name) for f in fields(Architecture)}
    manifest = {
        "module": {
            "input_shape": module.input_shape,
            "n_classes": module.n_classes,
            "n_latents": module.n_latents,
            "likelihood": module.likelihood,
        },
        "sizes": encode_all(sizes, "networks."),
        "rows": {
            "row_shape": rows.row_shape,
            "dtype": rows.dtype.name,
            "max_value": rows.max_value,
            "value_range": rows.value_range,
            "columns": encode_columns(rows.columns),
        },
        "classes": encode_labels(model.classes),
    }
    return manifest, tensors


def decode_model(
    manifest: dict[str, Any], tensors: Tensors, objects: dict[str, Any], device: str
) -> FittedModel:
    """Return the model of a manifest and tensors, on a device."""
    shapes, rows = manifest["module"], manifest["rows"]
    sizes = Architecture(**decode_all(manifest["sizes"], objects, "networks."))
    weights = {
        name.removeprefix("module."): torch.from_numpy(value)
        for name, value in tensors.items()
        if name.startswith("module.")
    }
    shapes = {name: tuple(v) if isinstance(v, list) else v for name, v in shapes.items()}
    _check_sizes(shapes, sizes, tensors)
    columns = decode_columns(rows.get("columns"))
    layout = None if columns is None else columns.layout
    _check_layout(shapes, columns, tensors)
    module = EquiVAEModule(**shapes, sizes=sizes, layout=layout)
    module.to(weights["decoder.log_scale"].dtype).load_state_dict(weights)
    spec = RowSpec(
        row_shape=tuple(rows["row_shape"]),
        input_shape=shapes["input_shape"],
        dtype=np.dtype(rows["dtype"]),
        likelihood=shapes["likelihood"],
        max_value=float(rows["max_value"]),
        shift=tensors["shift"],
        scale=tensors["scale"],
        value_range=(float(rows["value_range"][0]), float(rows["value_range"][1])),
        columns=columns,
    )
    if spec.dtype not in (np.float64, np.float32, np.uint8):
        raise ArchiveError(f"The archive has rows of dtype {spec.dtype}, which no fit takes.")
    n_values = math.prod(spec.input_shape) if columns is None else len(columns.columns)
    if math.prod(spec.row_shape) != n_values:
        raise ArchiveError("The shapes of a row disagree in the archive.")
    dtype = str(module.like.dtype).removeprefix("torch.")
    model = FittedModel(
        module=for_inference(module.to(resolve_device(device, dtype))),
        rows=spec,
        classes=decode_labels(manifest["classes"], "classes"),
        **{name: tensors[name] for name in ARRAYS},
    )
    _check_arrays(model)
    return model


def _check_sizes(shapes: dict[str, Any], sizes: Architecture, tensors: Tensors) -> None:
    """Raise unless the sizes are those of the stored weights, before anything is built of them."""
    if shapes["likelihood"] not in (*LIKELIHOODS, "mixed"):
        raise ArchiveError(f"The archive has an unknown likelihood, {shapes['likelihood']!r}.")
    n_r, n_v = shapes["n_latents"]
    first, second = sizes.hidden
    expected = {
        "invariant.hidden.weight": (second, first),
        "decoder.dense_r.weight": (second, n_r),
        "decoder.dense_v.weight": (second, n_v),
        "posterior.output.weight": (shapes["n_classes"], second),
    }
    is_image = len(shapes["input_shape"]) == 3
    given = (sizes.invariant_body, sizes.equivariant_body, sizes.posterior_body)
    if all(body is None for body in given) and not is_image:
        expected["invariant.body.0.0.weight"] = (sizes.dense, *shapes["input_shape"])
    for name, shape in expected.items():
        if tensors[f"module.{name}"].shape != shape:
            raise ArchiveError(f"The sizes of the networks disagree with the weights ({name}).")
    largest = max(tensor.size for tensor in tensors.values())
    numbers = (*sizes.filters, sizes.dense, *shapes["input_shape"])
    if math.prod(shapes["input_shape"]) > MAX_ROW or max(numbers) > max(largest, MAX_ROW):
        raise ArchiveError("The archive has rows or networks larger than any that fit in memory.")
    if max(sizes.filters) ** 2 > 4 * largest or sizes.kernel_size > 99 or sizes.dense**2 > MAX_ROW:
        raise ArchiveError("The sizes of the networks disagree with the weights.")


def _check_layout(shapes: dict[str, Any], columns: Columns | None, tensors: Tensors) -> None:
    """Raise unless the columns are those that the networks were built for."""
    layout = None if columns is None else columns.layout
    if (layout is None) != (shapes["likelihood"] != "mixed"):
        raise ArchiveError("The columns of the archive disagree with its likelihood.")
    n_columns = 0 if columns is None else len(columns.columns)
    if layout is not None and (
        shapes["input_shape"] != (layout.n_inputs,)
        or tensors["shift"].shape != (n_columns,)
        or tensors["scale"].shape != (n_columns,)
    ):
        raise ArchiveError("The columns of the archive disagree with its networks.")
    if layout is None and columns is not None and shapes["input_shape"] != (n_columns,):
        raise ArchiveError("The columns of the archive disagree with its networks.")


def _check_arrays(model: FittedModel) -> None:
    """Raise unless the arrays of the classes go together."""
    n, (n_r, n_v) = len(model.classes), model.module.n_latents
    expected = {
        "class_count": (n,),
        "class_prior": (n,),
        "class_embeddings": (n, model.module.n_hidden),
        "prototypes": (n, n_r),
        "v_mean": (n, n_v),
        "v_covariance": (n, n_v, n_v),
        "trained": (model.module.n_classes,),
    }
    for name, shape in expected.items():
        if getattr(model, name).shape != shape:
            raise ArchiveError(f"{name} has the shape {getattr(model, name).shape} in the archive; "
                               f"expected {shape}.")  # fmt: skip
    if not np.isin(model.trained, np.arange(n)).all():
        raise ArchiveError("The archive names trained classes that it does not have.")

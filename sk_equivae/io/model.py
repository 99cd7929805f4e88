"""A `FittedModel` as a manifest and tensors, and back."""

import math
import re
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..files.archive import Tensors
from ..files.errors import ArchiveError
from ..fitted.columns import Columns
from ..fitted.limits import Limits
from ..fitted.model import FittedModel, for_inference
from ..fitted.novelty import Novelty
from ..fitted.region import Region
from ..fitted.relative import RelativeStyles, relative_to_moments
from ..fitted.rows import RowSpec
from ..model.distributions import LIKELIHOODS
from ..model.module import EquiVAEModule
from ..model.networks import Architecture
from ..model.rules import RULES
from ..training.device import resolve_device
from .columns import decode_columns, encode_columns
from .values import decode_all, decode_labels, encode_all, encode_labels

# Attributes of a `FittedModel` that are arrays.
ARRAYS = (
    "class_count", "class_prior", "class_embeddings", "prototypes", "v_mean", "v_covariance",
    "trained",
)  # fmt: skip
# Attributes of `region` and `novelty` that are arrays; older archives have none of them.
PARTS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "region": (Region, ("center", "components", "variances", "limits")),
    "novelty": (Novelty, ("mean", "scale", "quantiles")),
}
LIMITS = ("low", "high", "integer")
# Values of a row, at most; a larger number was made to exhaust memory.
MAX_ROW = 2**22


def encode_model(model: FittedModel) -> tuple[dict[str, Any], Tensors]:
    """Return a manifest and the tensors of a model."""
    module, rows = model.module, model.rows
    weights = module.state_dict()
    tensors: Tensors = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    tensors |= {"shift": rows.shift, "scale": rows.scale, "kl_v": model.kl_v}
    tensors |= {f"relative.{name}": value for name, value in vars(model.relative).items()}
    if model.class_weight is not None:
        tensors["class_weight"] = model.class_weight
    if rows.limits is not None:
        tensors |= {f"limits.{name}": getattr(rows.limits, name) for name in LIMITS}
    tensors |= {f"module.{name}": value.cpu().numpy() for name, value in weights.items()}
    tensors |= _encode_parts(model)
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
        "temperature": dict(model.temperature),
        "style_weight": model.style_weight,
        "background_prior": model.background_prior,
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
        limits=_decode_limits(tensors, shapes["input_shape"]),
    )
    if spec.dtype not in (np.float64, np.float32, np.uint8):
        raise ArchiveError(f"The archive has rows of dtype {spec.dtype}, which no fit takes.")
    n_values = math.prod(spec.input_shape) if columns is None else len(columns.columns)
    if math.prod(spec.row_shape) != n_values:
        raise ArchiveError("The shapes of a row disagree in the archive.")
    dtype = str(module.like.dtype).removeprefix("torch.")
    arrays: dict[str, Any] = {name: tensors[name] for name in ARRAYS} | _styles(tensors)
    model = FittedModel(
        module=for_inference(module.to(resolve_device(device, dtype))),
        rows=spec,
        classes=decode_labels(manifest["classes"], "classes"),
        **arrays,
        **_decode_parts(manifest, tensors),
        class_weight=tensors.get("class_weight"),
    )
    _check_arrays(model)
    _check_parts(model)
    return model


def _encode_parts(model: FittedModel) -> Tensors:
    """Return the arrays by which probabilities and rejections depend on the row."""
    tensors: Tensors = {"background": model.background} if len(model.background) else {}
    for part, (_, names) in PARTS.items():
        value = getattr(model, part)
        if value is not None:
            tensors |= {f"{part}.{name}": np.asarray(getattr(value, name)) for name in names}
    return tensors


def _decode_parts(manifest: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Return the attributes of a model that archives of older versions lack."""
    parts: dict[str, Any] = {}
    for part, (cls, names) in PARTS.items():
        if f"{part}.{names[0]}" in tensors:
            parts[part] = cls(*(tensors[f"{part}.{name}"] for name in names))
    if "temperature" in manifest:
        parts["temperature"] = {rule: float(manifest["temperature"][rule]) for rule in RULES}
    if manifest.get("style_weight") is not None:
        parts["style_weight"] = float(manifest["style_weight"])
    if "background" in tensors:
        parts["background"] = tensors["background"]
        parts["background_prior"] = float(manifest["background_prior"])
    return parts


def _decode_limits(tensors: Tensors, input_shape: tuple[int, ...]) -> Limits | None:
    """Return what the columns of an array can hold; None for an archive without it."""
    if "limits.low" not in tensors:
        return None
    limits = Limits(**{name: tensors[f"limits.{name}"] for name in LIMITS})
    low, high, integer = limits.low, limits.high, limits.integer
    if (
        any(values.shape != input_shape for values in (low, high, integer))
        or [str(values.dtype) for values in (low, high, integer)] != ["float64", "float64", "bool"]
        or not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all()
    ):
        raise ArchiveError("The ranges of the columns are damaged in the archive.")
    return limits


def _styles(tensors: Tensors) -> dict[str, Any]:
    """Return what the archive says about v; older ones hold its moments only."""
    moments = tensors["v_mean"], tensors["v_covariance"]
    if "kl_v" not in tensors:
        n_equivariant = moments[0].shape[1]
        return {"kl_v": np.full(n_equivariant, np.nan), "relative": relative_to_moments(moments)}
    parts = {f.name: tensors[f"relative.{f.name}"] for f in fields(RelativeStyles)}
    relative = RelativeStyles(**parts)
    if not relative.fits(*moments[0].shape):
        raise ArchiveError("The shapes of the distribution of v disagree in the archive.")
    return {"kl_v": tensors["kl_v"], "relative": relative}


def _check_sizes(shapes: dict[str, Any], sizes: Architecture, tensors: Tensors) -> None:
    """Raise unless the sizes are those of the stored weights, before anything is built of them."""
    if shapes["likelihood"] not in (*LIKELIHOODS, "mixed"):
        raise ArchiveError(f"The archive has an unknown likelihood, {shapes['likelihood']!r}.")
    n_r, n_v = shapes["n_latents"]
    first, second = sizes.hidden
    of_posterior = sizes.posterior_hidden or sizes.hidden
    expected = {
        "invariant.hidden.weight": (second, first),
        "decoder.dense_r.weight": (second, n_r),
        "decoder.dense_v.weight": (second, n_v),
        "posterior.hidden.1.weight": of_posterior[::-1],
        "posterior.output.weight": (shapes["n_classes"], of_posterior[1]),
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
    if is_image and sizes.is_residual:
        _check_residual(sizes, tensors)


def _check_residual(sizes: Architecture, tensors: Tensors) -> None:
    """Raise unless the widths and the depth of residual bodies are those of the weights."""
    expected = [width for width in sizes.widths[1:] for _ in range(min(sizes.depth, len(tensors)))]
    for name in ("invariant", "posterior"):
        first, blocks = (
            f"module.{name}.body.0.0.weight",
            re.compile(rf"module\.{name}\.body\.0\.\d+\.branch\.0\.weight"),
        )
        if getattr(sizes, f"{name}_body") is not None:
            continue
        found = sorted(len(tensors[key]) for key in tensors if blocks.fullmatch(key))
        if sorted(expected) != found or sizes.widths[:1] != tensors[first].shape[:1]:
            raise ArchiveError(
                f"The sizes of the networks disagree with the weights ({name}.body)."
            )


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
        "trained": (model.module.n_classes - len(model.background),),
    }
    for name, shape in expected.items():
        if getattr(model, name).shape != shape:
            raise ArchiveError(f"{name} has the shape {getattr(model, name).shape} in the archive; "
                               f"expected {shape}.")  # fmt: skip
    if not np.isfinite(model.v_mean).all() or not _are_covariances(model.v_covariance):
        raise ArchiveError("The distribution of v is damaged in the archive.")
    weight = model.class_weight
    if weight is not None and (weight.shape != (n,) or not (weight > 0).all()):
        raise ArchiveError("The weights of the classes are damaged in the archive.")
    if not np.isin(model.trained, np.arange(n)).all():
        raise ArchiveError("The archive names trained classes that it does not have.")


def _are_covariances(matrices: NDArray[np.floating[Any]]) -> bool:
    """Return whether matrices are positive definite, as prediction needs them."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(matrices)).all())
    except np.linalg.LinAlgError:
        return False


def _check_parts(model: FittedModel) -> None:
    """Raise unless temperatures, region and novelty are possible ones."""
    finite = [np.asarray(list(model.temperature.values())), np.asarray(model.background_prior)]
    if model.style_weight is not None:
        finite[0] = np.append(finite[0], model.style_weight)
    n_inputs = math.prod(model.module.input_shape)
    if model.region is not None:
        n_components = len(model.region.variances)
        shapes = [(n_inputs,), (n_components, n_inputs), (n_components,), (3,)]
        finite += [getattr(model.region, name) for name in PARTS["region"][1]]
        if [array.shape for array in finite[2:]] != shapes:
            raise ArchiveError("The shapes of the region of the training rows disagree.")
    if model.novelty is not None:
        n_statistics = 5 if len(model.background) else 3
        arrays = [getattr(model.novelty, name) for name in PARTS["novelty"][1]]
        if [array.shape for array in arrays[:2]] != [(n_statistics,)] * 2 or arrays[2].ndim != 1:
            raise ArchiveError("The shapes of the scores of known rows disagree.")
        finite += arrays
    if not all(np.isfinite(array).all() for array in finite) or min(finite[0]) <= 0:
        raise ArchiveError("Temperatures, region and scores of an archive have to be finite.")
    if len(model.background) and model.background.shape[1:] != (model.module.n_latents[0],):
        raise ArchiveError("The prototypes of rows of no class have another size.")

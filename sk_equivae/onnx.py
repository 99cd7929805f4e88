"""Pipelines as ONNX graphs: importing this module tells skl2onnx about our estimators.

A pipeline of scikit-learn's transformers with one of our estimators becomes one graph::

    import sk_equivae.onnx
    from skl2onnx import to_onnx

    pipeline = make_pipeline(StandardScaler(), EquiVAEClassifier()).fit(X, y)
    graph = to_onnx(pipeline, X[:1], options={"zipmap": False})
    Path("model.onnx").write_bytes(graph.SerializeToString())

The graph of a classifier has two outputs, labels and probabilities; that of a transformer has
one. `zipmap` must be False if X is float64, as for scikit-learn's own classifiers. Without a
pipeline, use the estimator's own `to_onnx`.
"""

from typing import Any

import numpy as np

from .estimators import EquiVAEClassifier, EquiVAETransformer
from .io.onnx import OPSET, WHAT, make_onnx

try:
    from onnx import TensorProto, compose, helper, numpy_helper
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        Int64TensorType,
        StringTensorType,
    )
except ImportError as error:
    raise ImportError(
        "Export of pipelines to ONNX needs skl2onnx: pip install 'sk-equivae[onnx]'."
    ) from error

__all__: list[str] = []


def _classifier_types(operator: Any) -> None:
    """Declare the outputs of a classifier: labels, and probabilities in the dtype of X."""
    n_rows, classes = operator.inputs[0].get_first_dimension(), _labels(operator.raw_operator)
    label, probabilities = operator.outputs
    label.type = (StringTensorType if classes.dtype.kind == "U" else Int64TensorType)([n_rows])
    probabilities.type = type(probabilities.type)([n_rows, len(classes)])


def _transformer_types(operator: Any) -> None:
    """Declare the output of a transformer, in the dtype of X as later steps take for granted."""
    (output,), n_rows = operator.outputs, operator.inputs[0].get_first_dimension()
    n_components = len(operator.raw_operator.get_feature_names_out())
    output.type = type(output.type)([n_rows, n_components])


def _labels(estimator: Any) -> Any:
    """Return the labels as strings or int64, the two kinds that skl2onnx has."""
    classes = estimator.classes_
    return classes.astype(str if classes.dtype.kind in "UO" else np.int64)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier to the graph of a pipeline."""
    probabilities = _add_graph(scope, operator, container, "predict_proba")
    code, labels = (scope.get_unique_variable_name(name) for name in ("code", "labels"))
    classes = _labels(operator.raw_operator)
    values = classes.astype(object) if classes.dtype.kind == "U" else classes
    container.initializers.append(numpy_helper.from_array(values, labels))
    label, output = operator.outputs
    container.nodes.extend(
        [
            helper.make_node("ArgMax", [probabilities], [code], axis=1, keepdims=0),
            helper.make_node("Gather", [labels, code], [label.onnx_name]),
            _cast_to(output, probabilities),
        ]
    )


def _convert_transformer(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a transformer to the graph of a pipeline."""
    representations = _add_graph(scope, operator, container, "transform")
    container.nodes.append(_cast_to(operator.outputs[0], representations))


def _cast_to(output: Any, name: str) -> Any:
    double = isinstance(output.type, DoubleTensorType)
    to = TensorProto.DOUBLE if double else TensorProto.FLOAT
    return helper.make_node("Cast", [name], [output.onnx_name], to=to)


def _add_graph(scope: Any, operator: Any, container: Any, what: str) -> str:
    """Add the graph of an estimator, and return the name of its output there."""
    estimator = operator.raw_operator
    estimator._check_ready()
    opset = container.target_opset_any_domain("")
    if opset < OPSET:
        raise ValueError(
            f"target_opset should be at least {OPSET} for {type(estimator).__name__}; got {opset}."
        )
    graph = make_onnx(
        estimator.model_, what, estimator.predict_with, estimator.representation, opset
    )
    prefix = scope.get_unique_operator_name(type(estimator).__name__) + "_"
    graph = compose.add_prefix(graph, prefix).graph
    # skl2onnx leaves dtypes to the user's example of X; the graph takes that of X in fit
    (given,), (wanted,) = operator.inputs, graph.input
    container.nodes.append(
        helper.make_node(
            "Cast", [given.onnx_name], [wanted.name], to=wanted.type.tensor_type.elem_type
        )
    )
    container.nodes.extend(graph.node)
    container.initializers.extend(graph.initializer)
    container.node_domain_version_pair_sets.add(("", opset))
    return prefix + WHAT[what][1]


update_registered_converter(
    EquiVAEClassifier,
    "SkEquiVAEClassifier",
    _classifier_types,
    _convert_classifier,
    # the options that skl2onnx asks every classifier for
    options={
        "zipmap": [True, False, "columns"],
        "output_class_labels": [False, True],
        "nocl": [False],
    },
)
update_registered_converter(
    EquiVAETransformer, "SkEquiVAETransformer", _transformer_types, _convert_transformer
)

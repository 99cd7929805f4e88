"""The parameters of both estimators and of their nested settings, and bad values of each."""

import inspect

import numpy as np
import pytest

from sk_equivae import (
    Alignment,
    Discriminant,
    EquiVAEClassifier,
    EquiVAETransformer,
    Graph,
    Networks,
    Objective,
)
from sk_equivae.presets import PAPER

NAN = float("nan")


def assert_untouched(model, before):
    """The attributes are the same objects as before, and no new ones have come."""
    assert vars(model).keys() == before.keys()
    for name, value in vars(model).items():
        assert value is before[name], name


# ---------------------------------------------------------------- the constructor


def test_the_constructor_is_short():
    assert len(inspect.signature(EquiVAEClassifier).parameters) <= 28


def test_both_estimators_share_their_parameters():
    one, other = (
        {name: p.default for name, p in inspect.signature(kind).parameters.items()}
        for kind in (EquiVAEClassifier, EquiVAETransformer)
    )
    assert one == other
    assert list(one) == list(other)


def test_only_the_sizes_may_go_without_their_names():
    kinds = inspect.signature(EquiVAEClassifier).parameters.values()
    assert [p.name for p in kinds if p.kind is not p.KEYWORD_ONLY] == ["latent_dim", "m_max"]


@pytest.mark.parametrize("name", ["objective", "networks"])
def test_every_field_of_the_settings_can_be_searched(name):
    settings = {"objective": Objective, "networks": Networks}[name]
    params = EquiVAEClassifier(**{name: settings()}).get_params()
    fields = inspect.signature(settings).parameters
    assert {f"{name}__{field}" for field in fields} <= params.keys()


def test_fields_can_be_set_where_a_name_stands_for_them(estimator):
    estimator.set_params(objective__label_weight=2.0, networks__dropout=0.5)
    assert estimator.objective.label_weight == 2.0
    assert estimator.networks.dropout == 0.5
    assert estimator.get_params()["objective__label_weight"] == 2.0


def test_fields_of_a_preset_are_changed_one_by_one():
    model = EquiVAEClassifier(**PAPER).set_params(objective__label_weight=2.0)
    assert model.objective.label_weight == 2.0
    assert model.objective.teacher_decay == 0.0
    model.set_params(objective="auto", objective__confidence=0.9)
    assert model.objective.teacher_decay == Objective().teacher_decay


def test_sources_can_be_set_by_their_fields(estimator):
    estimator.set_params(objective__graph__n_neighbors=3, objective__alignment__decay=0.5)
    assert estimator.objective.graph.n_neighbors == 3
    assert estimator.objective.alignment.decay == 0.5


def test_training_leaves_the_settings_as_they_were(make, blobs, few):
    objective = Objective(alignment=Alignment(), graph=Graph(), discriminant=Discriminant())
    networks = Networks()
    before = [repr(objective), dict(vars(objective.alignment)), dict(vars(networks))]
    model = make(objective=objective, networks=networks).fit(blobs[0], few)
    assert model.objective is objective
    assert model.networks is networks
    assert [repr(objective), dict(vars(objective.alignment)), dict(vars(networks))] == before


# ---------------------------------------------------------------- bad values

BAD_PARAMETERS = {
    "latent_dim": [0, (3,), (3, 0), (1, 2, 3), "large"],
    "m_max": [0, 1.5],
    "image_shape": [(2, 3), (4,), (-2, -2), "4x1", (2.0, 2.0)],
    "likelihood": ["poisson"],
    "categorical_features": ["all", 3, [True], [9], ["a"], [1.5]],
    "representation": ["r"],
    "predict_with": ["distance"],
    "unlabeled": [[-1, -2]],
    "class_weight": ["even", 2.0, {0: 0}, {0: -1.0}, {0: "a"}, {7: 2.0}],
    "reject": [0.0, 1.0, "some"],
    "rejected": [[-1, -2]],
    "objective": ["best", None, Networks()],
    "networks": ["large", None, Objective()],
    "max_epochs": [0, "many"],
    "batch_size": [1],
    "lr": [0, -1.0, NAN],
    "early_stopping": ["yes", "loss"],
    "validation_fraction": [0.0, 1.0],
    "n_iter_no_change": [0],
    "augment": ["affine", "flip"],
    "device": ["nonsense", 0],
    "dtype": ["int8", np.float32],
    "callbacks": [["checkpoint"], 3],
    "checkpoint": [3, True],
    "memory": [3, True],
    "warm_start": ["yes"],
    "random_state": ["seed"],
    "verbose": [-1],
}
BAD_FIELDS = {
    "objective": {
        "labeled_share": [1.5, "half"],
        "label_weight": [-1],
        "class_threshold": [1.0],
        "max_classes": [0, 1.5],
        "kl_weight": [-0.1, "auto"],
        "kl_warmup": [1.5, -0.1],
        "lr_warmup": [1.5, "long"],
        "consistency_weight": [-1],
        "prototype_weight": [-1, "large"],
        "linear_weight": [-1, "auto"],
        "teacher_decay": [1.0, -0.1],
        "confidence": [1.1],
        "complement_pool": ["all"],
        "min_complements": [-1, 1.5, "all"],
        "alignment": ["yes", True],
        "graph": ["yes", False],
        "discriminant": ["yes", 3],
        "experts": ["yes", 3],
        "hidden_fraction": [0.6, -0.1, "half"],
        "labeled_fraction": [1.1, "auto"],
        "labeled_warmup": [-1, 0.5, "long"],
        "max_batch_size": [1],
        "lr_decay": ["linear"],
        "gradient_clip": [0],
        "calibrate": ["yes", None],
    },
    "networks": {
        "invariant_body": ["resnet"],
        "equivariant_body": [3],
        "posterior_body": [3],
        "decoder": [3],
        "body": ["resnet", None],
        "widths": ["many", 3, (8,), (8, -1)],
        "depth": [0, 1.5],
        "hidden": ["large", 3, (3,), (3, 0), (1.5, 2)],
        "posterior_hidden": ["auto", 3, (3,), (3, 0)],
        "decoder_dense": ["no"],
        "filters": ["many", 3, (8,), (8, -1)],
        "kernel_size": [0, 2.5],
        "dense": [0, "auto"],
        "batch_norm": ["yes"],
        "dropout": [1.0, -0.1],
        "first_log_variance": ["small", NAN],
        "log_scale_rate": [0],
        "min_scale": [0, -1],
        "amp": ["yes", 2],
        "compile": ["yes"],
    },
}


def test_each_parameter_has_a_bad_value():
    assert BAD_PARAMETERS.keys() == EquiVAEClassifier().get_params().keys()
    assert BAD_PARAMETERS.keys() == inspect.signature(EquiVAEClassifier).parameters.keys()
    for settings in (Objective, Networks):
        fields = inspect.signature(settings).parameters.keys()
        assert BAD_FIELDS[settings.__name__.lower()].keys() == fields


def assert_refused(model, name, data):
    before = dict(vars(model))
    with pytest.raises(ValueError, match=name) as caught:
        model.fit(*data)
    said = str(caught.value)
    assert "got" in said.lower() or "has 6 values" in said or "is not available" in said
    assert_untouched(model, before)


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters(make, blobs, name):
    for value in BAD_PARAMETERS[name]:
        assert_refused(make(**{name: value}), name, blobs)


@pytest.mark.parametrize("field", BAD_FIELDS["objective"])
def test_bad_fields_of_the_objective(make, blobs, field):
    for value in BAD_FIELDS["objective"][field]:
        assert_refused(make(objective=Objective(**{field: value})), field, blobs)


@pytest.mark.parametrize("field", BAD_FIELDS["networks"])
def test_bad_fields_of_the_networks(make, blobs, field):
    for value in BAD_FIELDS["networks"][field]:
        assert_refused(make(networks=Networks(**{field: value})), field, blobs)

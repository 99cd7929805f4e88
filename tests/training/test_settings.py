"""Settings inside of settings: copied, shown, searched and checked as any parameter."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_equivae import Alignment, EquiVAEClassifier, Graph, Networks, Objective
from sk_equivae.model import Architecture
from sk_equivae.presets import PAPER
from sk_equivae.training.pseudo_labels import Discriminant, Experts, Teacher
from sk_equivae.training.settings import (
    NETWORKS,
    OBJECTIVES,
    NestedSettings,
    TrainingSettings,
    make_plan,
)
from sk_equivae.training.settings.networks import paper_networks
from sk_equivae.training.settings.plan import KL_WARMUP, auto_epochs
from tests._models import make_codes, make_rows

# -------------------------------------------------------------------- settings of settings


class Inner(NestedSettings):
    def __init__(self, a=1, b=2):
        self.a = a
        self.b = b


def large():
    return Inner(a=100)


class Outer(NestedSettings):
    _named_settings = {"inner": {"auto": Inner, "large": large}}  # noqa: RUF012

    def __init__(self, inner="auto", other=None):
        self.inner = inner
        self.other = other


def test_a_name_is_replaced_when_a_field_of_it_is_set():
    outer = Outer().set_params(inner__a=5)
    assert repr(outer) == "Outer(inner=Inner(a=5))"
    assert (outer.inner.a, outer.inner.b) == (5, 2)


def test_fields_start_from_what_the_name_stands_for():
    assert Outer("large").set_params(inner__b=5).inner.a == 100
    assert Outer().set_params(inner="large", inner__b=5).inner.a == 100
    assert Outer(Inner(a=7)).set_params(inner__b=5).inner.a == 7


def test_a_name_stays_when_no_field_of_it_is_set():
    assert Outer().set_params(other=3).inner == "auto"
    assert Outer(Inner()).set_params(inner="auto").inner == "auto"


def test_each_object_gets_settings_of_its_own():
    one, other = (Outer().set_params(inner__a=a) for a in (5, 6))
    assert (one.inner.a, other.inner.a) == (5, 6)
    assert Outer().set_params(inner__b=3).inner.a == 1


def test_unknown_fields_are_named():
    with pytest.raises(ValueError, match=r"Invalid parameter 'c' for estimator Inner"):
        Outer().set_params(inner__c=1)


def test_what_training_gets_is_a_copy():
    given = Inner(a=3)
    outer = Outer(given)
    resolved = outer._resolved("inner")
    assert resolved is not given
    assert resolved.a == 3
    assert Outer("large")._resolved("inner").a == 100


# -------------------------------------------------------------------- those of an estimator


def test_shown_by_what_differs_from_the_default():
    assert repr(Objective()) == "Objective()"
    assert repr(Objective(label_weight=3.0)) == "Objective(label_weight=3.0)"
    assert repr(Networks(dropout=0.5)) == "Networks(dropout=0.5)"
    model = EquiVAEClassifier(4, objective=Objective(confidence=0.9))
    assert repr(model) == "EquiVAEClassifier(latent_dim=4, objective=Objective(confidence=0.9))"
    assert repr(EquiVAEClassifier()) == "EquiVAEClassifier()"


def test_clones_have_equal_settings_of_their_own():
    model = EquiVAEClassifier(
        objective=Objective(label_weight=3.0, graph=Graph(n_neighbors=4)),
        networks=Networks(dropout=0.5),
    )
    double = clone(model)
    assert repr(double) == repr(model)
    assert double.objective is not model.objective
    double.set_params(objective__graph__n_neighbors=9, networks__dropout=0.0)
    assert model.objective.graph.n_neighbors == 4
    assert model.networks.dropout == 0.5


def test_parameters_are_listed_with_their_fields():
    params = EquiVAEClassifier(objective=Objective(label_weight=3.0)).get_params()
    assert params["objective__label_weight"] == 3.0
    assert params["networks"] == "auto"
    assert "objective__label_weight" not in EquiVAEClassifier().get_params()


def test_fields_of_names_in_fields_of_names():
    model = EquiVAEClassifier().set_params(objective__alignment__decay=0.5)
    assert model.objective.alignment.decay == 0.5
    assert model.objective.graph == "auto"


def test_named_augmentations_have_fields_too():
    model = EquiVAEClassifier(augment="affine").set_params(augment__rotation=5)
    assert model.augment.rotation == 5


def test_fields_are_set_through_a_pipeline(make):
    pipeline = make_pipeline(StandardScaler(), make())
    pipeline.set_params(
        equivaeclassifier__objective__label_weight=2.0, equivaeclassifier__networks__dropout=0.5
    )
    assert pipeline[-1].objective.label_weight == 2.0
    assert pipeline[-1].networks.dropout == 0.5
    assert clone(pipeline)[-1].objective.label_weight == 2.0


def test_fields_are_searched(make, blobs):
    grid = {"objective__label_weight": [0.5, 2.0], "networks__dropout": [0.0, 0.5]}
    search = GridSearchCV(make(max_epochs=1), grid, cv=2, error_score="raise").fit(*blobs)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.objective.label_weight == search.best_params_["objective__label_weight"]
    assert best.model_.module.posterior.dropout == search.best_params_["networks__dropout"]
    assert best.net_.criterion_.weights["log_q_y"] == best.objective.label_weight
    assert search.estimator.objective == "auto"  # the one given stays as it was


def test_fields_are_searched_through_a_pipeline(make, blobs):
    pipeline = make_pipeline(StandardScaler(), make(max_epochs=1))
    grid = {"equivaeclassifier__objective__label_weight": [0.5, 2.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(*blobs)
    (chosen,) = search.best_params_.values()
    assert search.best_estimator_[-1].objective.label_weight == chosen


# -------------------------------------------------------------------- what they may be


@pytest.mark.parametrize(
    "settings, field",
    [
        (Objective(label_weight=-1.0), "label_weight"),
        (Objective(labeled_share=2), "labeled_share"),
        (Objective(class_threshold=1.0), "class_threshold"),
        (Objective(max_classes=0), "max_classes"),
        (Objective(teacher_decay=1.0), "teacher_decay"),
        (Objective(complement_pool="all"), "complement_pool"),
        (Objective(graph=True), "graph"),
        (Objective(alignment="no"), "alignment"),
        (Objective(max_batch_size=1), "max_batch_size"),
        (Objective(gradient_clip=0), "gradient_clip"),
        (Networks(dropout=1.0), "dropout"),
        (Networks(kernel_size=0), "kernel_size"),
        (Networks(dense=1.5), "dense"),
        (Networks(hidden="large"), "hidden"),
        (Networks(hidden=(5,)), "hidden"),
        (Networks(filters=(8,)), "filters"),
        (Networks(filters=(8, 0)), "filters"),
        (Networks(batch_norm="yes"), "batch_norm"),
        (Networks(min_scale=0), "min_scale"),
        (Networks(decoder=3), "decoder"),
    ],
)
def test_what_is_wrong_is_named(make, blobs, settings, field):
    kind = type(settings).__name__
    with pytest.raises(ValueError, match=rf"{kind}.*\b{field}\b|'{field}' parameter of {kind}"):
        make(**{kind.lower(): settings}).fit(*blobs)


def test_settings_are_checked_when_they_are_used():
    """As in scikit-learn: a constructor takes anything."""
    with pytest.raises(ValueError, match="'dropout' parameter of Networks"):
        Networks(dropout=7)._check()
    Networks()._check()
    Objective()._check()


# -------------------------------------------------------------------- what they stand for


def test_the_paper_has_the_bound_and_labels_only():
    paper = OBJECTIVES["paper"]()
    for name in ("class_threshold", "kl_warmup", "consistency_weight", "prototype_weight"):
        assert getattr(paper, name) == 0, name
    assert paper.complement_pool == "labeled"
    assert paper.min_complements == "m_max"  # m fresh rows of every class, whatever m is
    assert paper.labeled_share == "auto"  # every row counts once in Eq. 7
    assert paper.sources() == []
    assert NETWORKS["paper"]().batch_norm is False


def test_a_preset_is_a_name_and_can_be_changed():
    model = EquiVAEClassifier(**PAPER)
    assert (model.objective, model.networks) == ("paper", "paper")
    model.set_params(networks__dropout=0.3, objective__consistency_weight=1.0)
    assert (model.networks.batch_norm, model.networks.dropout) == (False, 0.3)
    assert (model.objective.teacher_decay, model.objective.consistency_weight) == (0.0, 1.0)
    assert EquiVAEClassifier(**PAPER).objective == "paper"


def test_the_paper_trains(make, blobs, few):
    model = make(objective="paper", networks="paper", augment=None).fit(blobs[0], few)
    history = model.history_[0]
    assert "train_log_q_y" in history
    assert not {"train_consistency", "train_prototype", "train_linear"} & history.keys()


def test_sources_are_asked_in_order():
    assert [type(s) for s in Objective().sources()] == [
        Teacher, Alignment, Graph, Discriminant, Experts,
    ]  # fmt: skip
    some = Objective(alignment=None, graph=Graph(n_neighbors=3), discriminant=None, experts=None)
    _, graph = some.sources()
    assert graph.n_neighbors == 3
    assert graph is not some.graph  # training writes to it
    assert Objective(teacher_decay=0.0).sources() == []


@pytest.mark.parametrize("n_latents, hidden", [((8, 3), (64, 32)), ((8, 9), (128, 64))])
def test_hidden_layers_by_the_latents(n_latents, hidden):
    assert Networks().architecture(n_latents).hidden == hidden
    assert Networks(hidden=[5, np.int64(3)]).architecture(n_latents).hidden == (5, 3)


def test_the_architecture_holds_every_field_but_how_to_run():
    sizes = Networks(dropout=0.3, filters=[4, 6], first_log_variance=-1.0).architecture((2, 2))
    assert isinstance(sizes, Architecture)
    assert (sizes.dropout, sizes.filters, sizes.first_log_variance) == (0.3, (4, 6), -1.0)
    assert set(vars(sizes)) == set(Networks().get_params()) - {"amp", "compile"}


@pytest.mark.parametrize(
    "shape, body",
    [
        ((3, 32, 32), "residual"),
        ((4, 16, 20), "residual"),
        ((1, 32, 32), "paper"),
        ((3, 15, 32), "paper"),
        ((2, 32, 32), "paper"),
        ((4,), "paper"),
    ],
)
def test_the_body_by_the_shape_of_a_row(shape, body):
    assert Networks().architecture((2, 2), shape).body == body
    assert paper_networks().architecture((2, 2), shape).body == "paper"


def test_widths_by_the_size_of_the_image():
    residual = Networks(body="residual")
    assert residual.architecture((2, 2), (1, 28, 28)).widths == (16, 32, 64, 128)
    assert residual.architecture((2, 2), (3, 8, 8)).widths == (16, 32)
    assert residual.architecture((2, 2), (3, 3, 3)).widths == (16, 32)
    given = Networks(widths=[4, np.int64(8)], depth=2).architecture((2, 2), (3, 32, 32))
    assert (given.widths, given.depth) == ((4, 8), 2)


@pytest.mark.parametrize("widths", [(4,), (4, 0), (4, 2.5)])
def test_wrong_widths(widths):
    with pytest.raises(ValueError, match="widths to be a tuple of 2 or more positive ints"):
        Networks(widths=widths).architecture((2, 2), (3, 32, 32))


# -------------------------------------------------------------------- the plan


def plan_of(codes, input_shape=(4,), weight=None, incremental=False, max_epochs="auto", **fields):
    X = np.zeros((len(codes), int(np.prod(input_shape))))
    data = make_rows(X, codes, weight, input_shape)
    settings = dict.fromkeys(TrainingSettings.__dataclass_fields__)
    settings |= {"objective": Objective(**fields), "max_epochs": max_epochs, "batch_size": 16}
    return make_plan(TrainingSettings(**settings), data, incremental)


def test_the_plan_has_no_auto():
    plan = plan_of(make_codes(10, 30))
    assert not any(value == "auto" for value in vars(plan).values())
    assert plan.labeled_share == 0.25
    assert plan.prototype_weight == 1.0
    assert plan.kl_warmup == 0.0
    of_images = plan_of(make_codes(10, 30), (1, 12, 12))
    assert (of_images.prototype_weight, of_images.kl_warmup) == (12.0, KL_WARMUP)


def test_the_plan_takes_what_is_given():
    fields = {"labeled_share": 0.7, "prototype_weight": 9.0, "kl_warmup": 0.2}
    plan = plan_of(make_codes(10, 30), max_epochs=3, max_batch_size=64, **fields)
    assert {name: getattr(plan, name) for name in fields} == fields
    assert (plan.n_epochs, plan.max_batch_size) == (3, 64)
    assert plan_of(make_codes(10, 30), max_batch_size=None).max_batch_size == 16
    assert plan_of(make_codes(10, 30), max_batch_size=8).max_batch_size == 16  # not below the first


def test_the_share_of_labelled_rows_is_by_weight_and_whole_without_others():
    weight = np.where(make_codes(10, 30) >= 0, 3.0, 1.0)
    assert plan_of(make_codes(10, 30), weight=weight).labeled_share == 0.5
    assert plan_of(make_codes(40, 0), labeled_share=0.3).labeled_share == 1.0


def test_one_epoch_without_schedule_for_partial_fit():
    plan = plan_of(make_codes(5000, 0), (1, 12, 12), incremental=True, kl_warmup=0.5)
    assert (plan.n_epochs, plan.max_batch_size, plan.kl_warmup) == (1, 16, 0.0)


def test_the_html_view_shows_the_fields_that_were_set():
    html = EquiVAEClassifier(objective=Objective(label_weight=2.5))._repr_html_()
    assert "objective__label_weight" in html
    assert "objective__confidence" not in html
    assert "networks" in html


PHOTOGRAPH = (3, 16, 16)


def test_photographs_start_with_labelled_rows():
    codes = make_codes(100, 2000)
    assert plan_of(codes, PHOTOGRAPH, max_epochs=2, max_batch_size=None).n_warmup == round(
        0.25 * 2 * np.ceil(2000 / 11)
    )
    assert plan_of(codes, PHOTOGRAPH, max_epochs=200).n_warmup == 1000
    assert plan_of(codes, PHOTOGRAPH, max_epochs=2, labeled_warmup=7).n_warmup == 7
    assert plan_of(codes, (1, 16, 16), max_epochs=2).n_warmup == 0
    assert plan_of(codes, (1, 16, 16), max_epochs=2, labeled_warmup=7).n_warmup == 7
    assert plan_of(codes, PHOTOGRAPH, incremental=True, labeled_warmup=7).n_warmup == 0
    assert plan_of(make_codes(100, 0), PHOTOGRAPH, labeled_warmup=7).n_warmup == 0


def test_photographs_are_seen_more_often():
    assert auto_epochs(35_000, True, True, photographs=True) == 15
    assert auto_epochs(70_000, True, False, photographs=True) == 10
    assert auto_epochs(700_000, True, True, photographs=True) == 2

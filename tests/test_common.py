"""scikit-learn's contract: its own checks, and what users do around an estimator."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from sk_equivae import EquiVAEClassifier, EquiVAEImputer, EquiVAETransformer, Networks, Objective

# Invariance is checked to 1e-9, which float32 does not have. Only classifiers have to learn.
EXACT = {"latent_dim": 2, "dtype": "float64", "random_state": 0}
LEARNS = {
    "max_epochs": 4,
    "batch_size": 32,
    "objective": Objective(max_batch_size=None),
    "lr": 1e-2,
}
CHECKED = [
    EquiVAEClassifier(unlabeled=None, **EXACT, **LEARNS),
    EquiVAEClassifier(**EXACT, **LEARNS),
    EquiVAETransformer(unlabeled=None, **EXACT, max_epochs=2),
    EquiVAETransformer(**EXACT, max_epochs=2),
    EquiVAEImputer(latent_dim=2, max_epochs=2, random_state=0),
]


def expected_failed_checks(estimator):
    if isinstance(estimator, EquiVAEImputer):
        return {}
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": (
            "a row of weight 2 and two equal rows fall into different random batches, and two "
            "equal rows can stand in for each other; rows of weight 0 are tested in test_base.py"
        )
    }
    if estimator.unlabeled == -1 and isinstance(estimator, EquiVAEClassifier):
        reasons["check_classifiers_classes"] = "its label -1 marks unlabelled rows here"
    return reasons


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failed_checks)
# some checks label ten random rows with many classes: a single row for one is likely
@pytest.mark.filterwarnings("ignore:Classes .* have a single labelled row:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- copies


def through_pickle(estimator):
    return pickle.loads(pickle.dumps(estimator))


@pytest.mark.parametrize("duplicate", [clone, copy.deepcopy, through_pickle])
def test_copies_before_fit_train_the_same(estimator, duplicate, blobs, assert_same):
    double = duplicate(estimator)
    assert double is not estimator
    assert double.get_params() == estimator.get_params()
    assert_same(estimator.fit(*blobs), double.fit(*blobs))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle])
def test_copies_after_fit_predict_and_train_on(estimator, duplicate, blobs, assert_same):
    X, y = blobs
    double = duplicate(estimator.fit(X, y))
    np.testing.assert_array_equal(double.transform(X), estimator.transform(X))
    before = assert_same.state_of(estimator)
    double.partial_fit(X, y)
    assert double.n_iter_ == estimator.n_iter_ + 1
    assert_same(before, estimator)  # the original does not follow


def test_a_deep_copy_trains_on_as_the_original(estimator, blobs, assert_same):
    double = copy.deepcopy(estimator.fit(*blobs))
    assert_same(double.partial_fit(*blobs), estimator.partial_fit(*blobs))


def test_a_pickle_leaves_the_state_of_training_out(estimator, blobs, assert_same):
    """Training goes on from it all the same, with the networks that predict."""
    one, two = (through_pickle(estimator.fit(*blobs)) for _ in range(2))
    assert not hasattr(one, "net_")
    assert_same(one.partial_fit(*blobs), two.partial_fit(*blobs))
    assert not np.array_equal(one.prototypes_, estimator.prototypes_)


def test_clone_after_fit_is_not_fitted(estimator, blobs):
    double = clone(estimator.fit(*blobs))
    assert not hasattr(double, "net_")
    assert not hasattr(double, "model_")


# ---------------------------------------------------------------- composition


def test_in_the_middle_and_at_the_end_of_a_pipeline(blobs, few):
    X, y = blobs
    first = EquiVAETransformer(latent_dim=3, max_epochs=2, random_state=0)
    last = EquiVAEClassifier(latent_dim=2, max_epochs=20, lr=5e-3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), first, last).fit(X, few)
    assert pipeline[:-1].transform(X).shape == (60, 3)
    assert pipeline.predict_proba(X).shape == (60, 3)
    assert pipeline.score(X, y) > 0.9
    assert list(pipeline[:-1].get_feature_names_out()) == ["r0", "r1", "r2"]
    classifier_first = make_pipeline(last, LogisticRegression()).fit(X, y)
    assert classifier_first.score(X, y) > 0.9


def test_grid_search_in_parallel_over_own_and_nested_names(make, blobs, assert_same):
    X, y = blobs
    grid = [{"m_max": [1, 5]}, {"latent_dim": [(2, 3)]}]
    search = GridSearchCV(make(), grid, n_jobs=2, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert_same(search.best_estimator_, make(**search.best_params_).fit(X, y))

    fields = {"objective__label_weight": [0.5, 2.0], "networks__dropout": [0.0]}
    search = GridSearchCV(make(), fields, n_jobs=2, cv=2).fit(X, y)
    assert search.best_estimator_.objective.label_weight in (0.5, 2.0)
    assert search.best_estimator_.networks.dropout == 0.0

    pipeline = make_pipeline(StandardScaler(), make())
    grid = {"equivaeclassifier__m_max": [1, 5]}
    nested = GridSearchCV(pipeline, grid, n_jobs=2, cv=2).fit(X, y)
    assert nested.best_estimator_[-1].m_max == nested.best_params_["equivaeclassifier__m_max"]


def routed(make):
    learner = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    return make_pipeline(StandardScaler().set_fit_request(sample_weight=False), learner)


def test_sample_weight_is_routed(make, blobs):
    X, y = blobs
    weight = np.where(y == 2, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = routed(make).fit(X, y, sample_weight=weight)
    assert pipeline[-1].class_prior_.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn routes weights to the score of a Pipeline from 1.8 on",
)
def test_sample_weight_is_routed_in_cross_validation(make, blobs):
    X, y = blobs
    weight = np.where(y == 2, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            routed(make), X, y, params={"sample_weight": weight}, cv=2, return_estimator=True
        )
    assert all(fitted[-1].class_prior_[2] == 0 for fitted in result["estimator"])
    assert np.isfinite(result["test_score"]).all()


# ---------------------------------------------------------------- display and output


def test_html_shows_parameters_that_were_changed(make, blobs):
    model = make(m_max=3)
    for html in (model._repr_html_(), model.fit(*blobs)._repr_html_()):
        assert "EquiVAEClassifier" in html
        assert "m_max" in html
    assert repr(EquiVAEClassifier(m_max=3)) == "EquiVAEClassifier(m_max=3)"


@pytest.mark.parametrize(
    "representation, names",
    [
        ("invariant", ["r0", "r1"]),
        ("equivariant", ["v0", "v1", "v2"]),
        ("both", ["r0", "r1", "v0", "v1", "v2"]),
    ],
)
def test_feature_names_and_pandas_output(estimator, blobs, representation, names):
    X, y = blobs
    estimator.set_params(latent_dim=(2, 3), representation=representation).fit(X, y)
    expected = estimator.transform(X)
    assert estimator.get_feature_names_out().tolist() == names
    frame = estimator.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == names
    np.testing.assert_array_equal(frame.to_numpy(), expected)
    estimator.set_params(latent_dim=7)  # of the next fit, not of this one
    assert estimator.get_feature_names_out().tolist() == names


# ---------------------------------------------------------------- randomness


def test_same_seed_same_bits_another_seed_others(make, blobs, few, assert_same):
    X, _ = blobs
    one, two = make().fit(X, few), make().fit(X, few)
    assert_same(one, two)
    assert one.history_[-1]["train_objective"] == two.history_[-1]["train_objective"]
    assert not np.array_equal(make(random_state=1).fit(X, few).prototypes_, one.prototypes_)


def test_seed_may_be_a_generator_which_moves_on(make, blobs, assert_same):
    rng = np.random.RandomState(3)
    one, two = make(random_state=rng).fit(*blobs), make(random_state=rng).fit(*blobs)
    assert not np.array_equal(one.prototypes_, two.prototypes_)
    assert_same(one, make(random_state=np.random.RandomState(3)).fit(*blobs))


def noisy(shape):
    """A user's network that draws from torch's global generator."""
    return torch.nn.Sequential(torch.nn.Linear(*shape, 8), torch.nn.Dropout(0.5))


@pytest.mark.parametrize("body", [None, noisy])
def test_global_state_is_left_as_found(make, blobs, few, body, assert_same):
    X, _ = blobs
    np.random.seed(7)
    torch.manual_seed(7)
    numpy_state, torch_state = np.random.get_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    params = {"dtype": "float64", "networks": Networks(invariant_body=body)}
    model = make(representation="both", **params).fit(X, few)
    model.partial_fit(X, few).transform(X)
    model.predict_proba(X)
    for before, after in zip(numpy_state, np.random.get_state(), strict=True):
        np.testing.assert_array_equal(before, after)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == dtype
    assert torch.is_grad_enabled()

    torch.manual_seed(8)  # and what was there does not matter
    again = make(representation="both", **params).fit(X, few)
    assert_same(model, again.partial_fit(X, few))

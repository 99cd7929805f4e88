"""Classifiers of the labels, weighed beside the graph and the discriminant."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_wine, make_moons
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import Perceptron
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sk_equivae import Discriminant, EquiVAEClassifier, Experts, Graph, Objective, load
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.pseudo_labels import Problem, experts
from sk_equivae.training.pseudo_labels.source import some_labels

OF_LABELS = [
    "LogisticRegression",
    "LogisticRegression of ranks",
    "ExtraTreesClassifier",
    "SVC",
    "SVC of ranks",
]
NAMES = [*OF_LABELS, "graph", "discriminant"]


def few(truth, n_labeled=5, seed=0):
    y = np.full(len(truth), -1)
    order = np.random.RandomState(seed).permutation(len(truth))
    for code in np.unique(truth):
        y[order[truth[order] == code][:n_labeled]] = code
    return y


def moons(n_labeled=6):
    X, truth = make_moons(300, noise=0.08, random_state=0)
    return X, truth, few(truth, n_labeled)


def prepared(X, y, source, *others, image_shape=None, n_classes=None):
    spec = make_spec(X, None, image_shape, "gaussian")
    problem = Problem(TrainingRows(X, spec, y), n_classes or int(y.max()) + 1, seed=0)
    for each in (*others, source):
        each.prepare(problem)
    return problem


def test_weights_follow_what_the_rows_are_like():
    """Moons belong to the graph; lines do not separate them."""
    X, truth, y = moons()
    source = Experts()
    problem = prepared(X, y, source, Graph(), Discriminant())
    assert [*source.report_] == NAMES
    weights = {name: row["weight"] for name, row in source.report_.items()}
    assert weights["graph"] == max(weights.values())
    assert np.mean(problem.evidence.argmax(axis=1) == truth) > 0.93
    np.testing.assert_allclose(problem.evidence.sum(axis=1), 1, rtol=1e-5)
    assert [row["from_labels"] for row in source.report_.values()] == [True] * 5 + [False] * 2


def test_pool_is_the_weighed_product(monkeypatch):
    X, _, y = moons()
    source = Experts(classifiers=[GaussianNB(), SVC()])
    problem = prepared(X, y, source)
    labeled = y >= 0
    Z = problem.features(np.arange(300))
    bayes = GaussianNB().fit(Z[labeled], y[labeled]).predict_proba(Z) + experts.SMALLEST
    scores = 2 * SVC().fit(Z[labeled], y[labeled]).decision_function(Z)
    svc = softmax(np.stack([-scores, scores], axis=1), axis=1) + experts.SMALLEST
    first, second = (row["weight"] for row in source.report_.values())
    expected = softmax(first * np.log(bayes) + second * np.log(svc), axis=1)
    np.testing.assert_allclose(problem.evidence, expected, atol=1e-6)
    monkeypatch.setattr(experts, "CHUNK", 7)
    again = prepared(X, y, Experts(classifiers=[GaussianNB(), SVC()]))
    np.testing.assert_allclose(again.evidence, problem.evidence, atol=1e-6)


def test_ranks_do_not_depend_on_scales():
    rng = np.random.RandomState(0)
    Z = np.stack([rng.normal(size=300), rng.randint(2, size=300)], axis=1)
    wild = Z * [1, 1]
    wild[:, 0] = np.exp(4 * wild[:, 0])
    scores, again = experts.normal_scores(Z)(Z), experts.normal_scores(wild)(wild)
    np.testing.assert_allclose(scores[:, 0], again[:, 0], atol=0.1)
    np.testing.assert_array_equal(scores[:, 1], Z[:, 1])  # two values stay
    np.testing.assert_allclose(scores[:, 0].std(), 1)
    assert np.corrcoef(scores[:, 0], Z[:, 0])[0, 1] > 0.99
    assert experts.normal_scores(Z[:, 1:]) is None


def test_features_of_two_values_have_no_ranks():
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(100, 6)).astype(float)
    source = Experts()
    prepared(X, few(X[:, 0].astype(int)), source)
    assert [*source.report_] == ["LogisticRegression", "ExtraTreesClassifier", "SVC"]


def test_ranks_among_some_of_many_rows(monkeypatch):
    X, truth, y = moons()
    monkeypatch.setattr(experts, "N_RANKED_ROWS", 100)
    source = Experts()
    problem = prepared(X, y, source)
    assert [*source.report_] == OF_LABELS
    assert np.mean(problem.evidence.argmax(axis=1) == truth) > 0.8


@pytest.mark.parametrize("given", [False, True])
def test_the_usual_forest_has_fewer_trees_while_labels_are_hidden(given, monkeypatch):
    """A forest of the user's own stays as it is."""
    n_trees, fit = [], ExtraTreesClassifier.fit

    def counted(self, *args):
        n_trees.append(self.n_estimators)
        return fit(self, *args)

    monkeypatch.setattr(ExtraTreesClassifier, "fit", counted)
    X, _, y = moons()
    forests = [ExtraTreesClassifier()] if given else "auto"
    prepared(X, y, Experts(forests, n_folds=3, n_repeats=1))
    assert n_trees == ([100] * 4 if given else [30] * 3 + [100])


def test_same_seed_same_evidence():
    X, _, y = moons()
    once, twice = (prepared(X, y, Experts(), Graph()).evidence for _ in range(2))
    np.testing.assert_array_equal(once, twice)


def test_class_without_labels_is_improbable():
    X, _, y = moons()
    evidence = prepared(X, y, Experts(), n_classes=3).evidence
    assert (evidence[:, 2] < 0.05).all()


def test_at_most_some_labels_are_learnt_from():
    codes = np.array([0] * 500 + [1] * 499 + [2])
    some = some_labels(codes, 20, seed=0)
    assert np.count_nonzero(some >= 0) == 20
    assert set(some) == {-1, 0, 1, 2}
    np.testing.assert_array_equal(some[some >= 0], codes[some >= 0])
    assert some_labels(codes, 1_000, seed=0) is codes


@pytest.mark.parametrize("n_few, n_repeats", [(500, 2), (10, 1)])
def test_many_labels_are_hidden_once(n_few, n_repeats, monkeypatch):
    seen = []
    judge = experts.judge
    monkeypatch.setattr(experts, "FEW_LABELS", n_few)
    monkeypatch.setattr(
        experts,
        "judge",
        lambda o, answers, *args: seen.append(answers.shape[1]) or judge(o, answers, *args),
    )
    X, _, y = moons()
    prepared(X, y, Experts(classifiers=[GaussianNB()]))
    assert seen == [n_repeats]


@pytest.mark.parametrize("case", ["image", "all labelled", "one class", "nobody"])
def test_nothing_to_weigh(case):
    X, truth, y = moons()
    if case == "image":
        X = np.random.RandomState(0).uniform(size=(300, 64))
    elif case == "all labelled":
        y = truth
    elif case == "one class":
        y = np.where(y == 0, 0, -1)
    source = Experts(classifiers=None if case == "nobody" else "auto")
    problem = prepared(X, y, source, image_shape=(8, 8) if case == "image" else None)
    assert problem.evidence is None
    assert source.report_ is None


def test_classifiers_of_the_same_kind_have_their_own_names():
    X, _, y = moons()
    source = Experts(classifiers=[SVC(C=1), SVC(C=10)])
    prepared(X, y, source)
    assert [*source.report_] == ["SVC", "SVC-2"]


def test_what_is_no_classifier_is_refused():
    X, _, y = moons()
    with pytest.raises(ValueError, match="expects classifiers that have predict_proba or dec"):
        prepared(X, y, Experts(classifiers=[StandardScaler()]))


def test_pipelines_and_scores_of_several_classes():
    X, truth = load_wine(return_X_y=True)
    y = few(truth)
    members = [make_pipeline(StandardScaler(), Perceptron()), ExtraTreesClassifier(30)]
    evidence = prepared(X, y, Experts(classifiers=members)).evidence
    assert np.mean(evidence.argmax(axis=1) == truth) > 0.85


# -------------------------------------------------------------------- in a fit


def test_fit_tells_what_it_believed(tmp_path):
    X, truth, y = moons()
    settings = Objective(experts=Experts(n_folds=3, n_repeats=1))
    model = EquiVAEClassifier(objective=settings, random_state=0).fit(X, y)
    assert [*model.evidence_] == NAMES
    share = model.history_[-1]["unlabeled_share"]
    weights = {name: row["weight"] for name, row in model.evidence_.items()}
    assert share == pytest.approx(
        (weights["graph"] + weights["discriminant"]) / sum(weights.values())
    )
    assert np.mean(model.transduction_ == truth) > 0.93
    model.save(tmp_path / "moons.equivae")
    again = load(tmp_path / "moons.equivae")
    assert again.objective.experts.n_folds == 3
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert EquiVAEClassifier(max_epochs=1).fit(X, truth).evidence_ is None


def test_networks_learn_the_probabilities_of_the_experts():
    X, truth = load_wine(return_X_y=True)
    y = few(truth)
    model = EquiVAEClassifier(random_state=0, predict_with="posterior").fit(X, y)
    problem = prepared(X, y, Experts(), Graph(), Discriminant())
    far = np.abs(model.predict_proba(X) - problem.evidence)[y < 0].mean()
    assert far < 0.1
    hard = np.eye(3)[problem.evidence.argmax(axis=1)]
    assert far < np.abs(hard - problem.evidence)[y < 0].mean() + 0.02


@pytest.mark.parametrize("kind", ["shuffled", "of another table"])
def test_unlabelled_rows_that_mislead_do_no_harm(kind):
    """Within a point of the fit on the labelled rows alone."""
    X, truth = load_wine(return_X_y=True)
    X, X_test, truth, y_test = train_test_split(
        StandardScaler().fit_transform(X), truth, test_size=0.4, stratify=truth, random_state=0
    )
    scores = []
    for seed in (0, 1):
        y = few(truth, seed=seed)
        labeled, noise = X[y >= 0], X[y < 0]
        rng = np.random.RandomState(seed)
        if kind == "shuffled":
            noise = np.stack([rng.permutation(column) for column in noise.T], axis=1)
        else:
            noise = rng.normal(1, 3, size=noise.shape)
        rows, codes = np.r_[labeled, noise], np.r_[y[y >= 0], np.full(len(noise), -1)]
        model = EquiVAEClassifier(random_state=seed)
        misled = model.fit(rows, codes).score(X_test, y_test)
        scores.append([misled, model.fit(labeled, y[y >= 0]).score(X_test, y_test)])
    misled, alone = np.mean(scores, axis=0)
    assert misled > alone - 0.01

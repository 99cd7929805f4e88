"""Small tables whose rows are all labelled are learnt with made-up rows in between."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_equivae import EquiVAEClassifier, Objective
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.training import objective
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.made_up import N_ROWS, _between, add_rows, needs_rows
from sk_equivae.training.pseudo_labels import Discriminant, Experts, Graph, Problem, Teacher


def table(n_rows=18, n_classes=2, dtype=np.float64):
    rng = np.random.RandomState(0)
    X = np.stack([rng.normal(size=n_rows), rng.randint(3, size=n_rows)], axis=1).astype(dtype)
    codes = np.arange(n_rows) % n_classes
    return TrainingRows(X, make_spec(X, None, None, "gaussian"), codes)


def wine(seed):
    """Five rows of each class, and the others."""
    X, y = load_wine(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(y))
    few = np.concatenate([order[y[order] == code][:5] for code in range(3)])
    rest = np.setdiff1d(order, few)
    return X[few], y[few], X[rest], y[rest]


# -------------------------------------------------------------------- the rows


def test_made_up_rows_lie_between_two_rows():
    data = table()
    more = add_rows(data, seed=0)
    assert len(more) == len(more.X) == N_ROWS
    assert more.n_made_up == N_ROWS - 18
    np.testing.assert_array_equal(more.X[:18], data.X)
    np.testing.assert_array_equal(more.codes, np.r_[data.codes, np.full(N_ROWS - 18, -1)])
    made = more.X[18:]
    assert made[:, 0].min() >= data.X[:, 0].min()
    assert made[:, 0].max() <= data.X[:, 0].max()
    assert len(np.unique(made[:, 0])) > 400  # new values
    assert set(made[:, 1]) == {0, 1, 2}  # integers are those of either row
    np.testing.assert_array_equal(add_rows(data, seed=0).X, more.X)
    assert (add_rows(data, seed=1).X[18:] != made).any()


def test_missing_values_are_those_of_either_row():
    X = table().X
    X[::2, 0] = np.nan
    rng = np.random.RandomState(0)
    first, second = rng.randint(18, size=(2, 1_000))
    made = _between(X, first, second, np.full((1_000, 1), 0.25), rng)[:, 0]
    missing = np.isnan(made)
    both = np.isnan(X[first, 0]) & np.isnan(X[second, 0])
    assert missing[both].all()
    either = np.isnan(X[first, 0]) & ~both
    assert 0.65 < missing[either].mean() < 0.85  # three times of four it is the first
    np.testing.assert_allclose(made[either & ~missing], X[second, 0][either & ~missing])


def test_frames_with_categories_and_missing_values():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.rand(18) < 0.2, np.nan, rng.normal(size=18)),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], size=18)),
        }
    )
    model = EquiVAEClassifier(max_epochs=1, random_state=0).fit(frame, np.arange(18) % 2)
    assert model.evidence_ is not None
    assert np.isfinite(model.score_samples(frame)).all()


def test_two_values_stay_two():
    data = table()
    data.X[:, 1] = np.where(data.X[:, 1] > 0, 0.7, -1.3)
    assert set(add_rows(data, seed=0).X[18:, 1]) == {0.7, -1.3}


def test_made_up_rows_of_integers():
    more = add_rows(table(dtype=np.int64), seed=0)
    assert more.X.dtype == np.int64
    assert set(more.X[18:, 1]) == {0, 1, 2}


def test_rows_of_a_part_stay_a_part():
    data = table()
    part = data.subset(np.arange(5))
    more = add_rows(part, seed=0)
    assert len(more) == N_ROWS
    np.testing.assert_array_equal(more.rows[:5], np.arange(5))
    np.testing.assert_array_equal(more.own_codes[5:], -1)
    assert more.X[18:, 0].max() <= data.X[:5, 0].max()


@pytest.mark.parametrize(
    "case, needed",
    [
        ("few", True), ("enough", False), ("unlabelled", False), ("one class", False),
        ("no experts", False),
    ],
)  # fmt: skip
def test_which_tables_need_them(case, needed):
    data = table(20 if case == "enough" else 19)
    if case == "unlabelled":
        data.codes[0] = -1
    elif case == "one class":
        data.codes[:] = 0
    sources = [Teacher(), Experts()]
    assert needs_rows(data, sources[:1] if case == "no experts" else sources) is needed


def test_images_need_none():
    X = np.random.RandomState(0).uniform(size=(10, 64))
    data = TrainingRows(X, make_spec(X, None, (8, 8), "gaussian"), np.arange(10) % 2)
    assert not needs_rows(data, [Experts()])


def test_all_labelled_rows_leave_graph_and_discriminant_without_an_opinion():
    problem = Problem(add_rows(table(), seed=0), 2, seed=0)
    for source in (Graph(), Discriminant()):
        source.prepare(problem)
    assert problem.opinions == []


def test_made_up_rows_are_not_in_the_bound(monkeypatch):
    seen = []
    bound = objective.semi_supervised_elbo

    def spy(module, x, y, q_y, pool, counted, *args):
        seen.append((float(counted.labeled.sum()), float(counted.unlabeled.sum())))
        return bound(module, x, y, q_y, pool, counted, *args)

    monkeypatch.setattr(objective, "semi_supervised_elbo", spy)
    X, y, _, _ = wine(0)
    EquiVAEClassifier(max_epochs=1, random_state=0).fit(X, y)
    for labeled, unlabeled in seen:
        assert labeled == pytest.approx(1)
        assert unlabeled == 0


# -------------------------------------------------------------------- in a fit


def test_fit_on_labels_alone_is_as_good_as_a_linear_classifier():
    errors = []
    for seed in range(3):
        X, y, X_test, y_test = wine(seed)
        model = EquiVAEClassifier(random_state=0).fit(X, y)
        linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        errors.append([1 - m.score(X_test, y_test) for m in (model, linear)])
        assert all(row["from_labels"] for row in model.evidence_.values())
        assert model.history_[-1]["unlabeled_share"] == 0
        assert len(model.transduction_) == 15
    own, peer = np.mean(errors, axis=0)
    assert own < peer + 0.02


def test_without_experts_no_rows_are_made_up():
    X, y, _, _ = wine(0)
    settings = Objective(experts=None)
    model = EquiVAEClassifier(objective=settings, max_epochs=1, random_state=0).fit(X, y)
    assert model.evidence_ is None

"""Any rows, labels and parameters end in a sound estimator, or in an error that says why.

`SK_EQUIVAE_EXAMPLES=1000 python -m pytest tests/test_properties.py` tries more.
"""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sk_equivae import EquiVAEClassifier, Networks, Objective, load

N_EXAMPLES = int(os.environ.get("SK_EQUIVAE_EXAMPLES", 12))

values = st.one_of(
    st.floats(-1e3, 1e3, width=32), st.sampled_from([0.0, 1.0, 1e30, -1e30, 1e-30, np.nan, np.inf])
)
tables = hnp.arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(0, 12), st.integers(0, 5)),
    elements=st.one_of(st.floats(-100, 100, width=32), st.sampled_from([0.0, 1.0])),
)
odd_tables = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=values
)
images = hnp.arrays(np.uint8, st.tuples(st.integers(2, 8), st.just(8), st.integers(7, 9)))
labels = st.one_of(
    st.lists(st.integers(-1, 3), min_size=0, max_size=12),
    st.lists(st.sampled_from(["a", "b", -1, None]), min_size=0, max_size=12),
    st.lists(st.sampled_from([0.0, 1.0, np.nan, 0.5]), min_size=0, max_size=12),
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "latent_dim": st.sampled_from([1, 2, (1, 2), 0, "x", (1, 2, 3)]),
        "m_max": st.sampled_from([1, 3, 50, -1]),
        "likelihood": st.sampled_from(["auto", "bernoulli", "gaussian", "poisson"]),
        "unlabeled": st.sampled_from([-1, None, "a"]),
        "predict_with": st.sampled_from(["prototype", "posterior", "likelihood", "guess"]),
        "representation": st.sampled_from(["invariant", "equivariant", "both"]),
        "objective": st.sampled_from(
            ["auto", "paper", Objective(teacher_decay=0.0), Objective(confidence=0.0), "x"]
        ),
        "networks": st.sampled_from(["auto", "paper", Networks(hidden=(4, 3), dense=5)]),
        "augment": st.sampled_from([None, "auto", "affine", "swap"]),
        "batch_size": st.sampled_from([2, 5, 64, 1]),
        "lr": st.sampled_from([1e-3, 1e-1, 1e30, 0]),
        "early_stopping": st.booleans(),
        "dtype": st.sampled_from(["float32", "float64"]),
    },
)


def check(model, X):
    """Check what holds for every fitted estimator."""
    n, n_classes = len(X), len(model.classes_)
    probability = model.predict_proba(X)
    assert probability.shape == (n, n_classes)
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-5)
    assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())
    Z = model.transform(X)
    assert np.isfinite(Z).all()
    assert Z.shape == (n, len(model.get_feature_names_out()))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.equivae")
        again = load(Path(folder) / "model.equivae")
    np.testing.assert_array_equal(again.predict_proba(X), probability)


@settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    derandomize=N_EXAMPLES < 100,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(X=st.one_of(tables, tables, images, odd_tables), y=labels, params=parameters)
def test_a_sound_estimator_or_a_clear_error(X, y, params):
    if y and len(X):
        y = [y[i % len(y)] for i in range(len(X))]  # most of the time as many labels as rows
    message = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [
                EquiVAEClassifier(**{"max_epochs": 1, "random_state": 0, **params}).fit(X, y)
                for _ in range(2)
            ]
            check(models[0], X)
            np.testing.assert_array_equal(models[0].prototypes_, models[1].prototypes_)
    except (ValueError, TypeError) as error:
        message = str(error)
    except RuntimeError as error:
        message = str(error) if "Training diverged" in str(error) else "x"
    assert message == "" or len(message) > 20

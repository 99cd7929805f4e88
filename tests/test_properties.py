"""Any rows, labels and parameters end in a sound estimator, or in an error that says why.

`SK_EQUIVAE_EXAMPLES=1000 python -m pytest tests/test_properties.py` tries more.
"""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sk_equivae import EquiVAEClassifier, Networks, Objective, load

N_EXAMPLES = int(os.environ.get("SK_EQUIVAE_EXAMPLES", 12))

sizes = st.tuples(st.integers(4, 14), st.integers(1, 5))
numbers = st.one_of(st.floats(-100, 100, width=32), st.sampled_from([0.0, 1.0, 1e6]))
tables = hnp.arrays(st.sampled_from([np.float64, np.float32]), sizes, elements=numbers)
images = hnp.arrays(np.uint8, st.tuples(st.integers(4, 9), st.just(8), st.integers(8, 9)))
odd_tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 9), st.integers(0, 4)),
    elements=st.sampled_from([0.0, 1.0, 1e30, -1e30, 1e-30, 1e300, np.nan, np.inf]),
)
odd_images = hnp.arrays(np.uint8, st.tuples(st.integers(0, 4), st.integers(1, 9), st.just(8)))
rows = st.one_of(tables, tables, tables, images, odd_tables, odd_images)

labels = st.one_of(
    st.lists(st.integers(-1, 2), min_size=4, max_size=14),
    st.lists(st.integers(0, 1), min_size=4, max_size=14),
    st.lists(st.sampled_from(["a", "b", -1, None]), min_size=4, max_size=14),
    st.lists(st.sampled_from([0.0, 1.0, np.nan, 0.5]), max_size=12),
)

SOUND = {
    "latent_dim": [1, 2, (1, 2)],
    "m_max": [1, 3, 50],
    "likelihood": ["auto", "gaussian"],
    "predict_with": ["prototype", "posterior", "likelihood"],
    "representation": ["invariant", "equivariant", "both", "latent"],
    "objective": ["auto", "paper", Objective(teacher_decay=0.0), Objective(confidence=0.0)],
    "networks": ["auto", "paper", Networks(hidden=(4, 3), dense=5)],
    "augment": [None, "auto"],
    "batch_size": [2, 5, 64],
    "lr": [1e-3, 1e-1],
    "early_stopping": [False, False, True],
    "dtype": ["float32", "float64"],
}
ODD = {
    "latent_dim": [0, "x", (1, 2, 3)],
    "m_max": [-1],
    "likelihood": ["bernoulli", "poisson"],
    "unlabeled": [None, "a", [1]],
    "predict_with": ["guess"],
    "objective": ["x", Objective(label_weight=-1)],
    "networks": [Networks(hidden=(0, 3)), 3],
    "augment": ["affine", "swap", "x"],
    "batch_size": [1],
    "lr": [1e30, 0],
    "image_shape": [(2, 2), (8, 8), 3],
}


def choices(options):
    return st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in options.items()}
    )


one_odd = st.sampled_from(sorted(ODD)).flatmap(lambda name: choices({name: ODD[name]}))
parameters = st.one_of(
    choices(SOUND),
    choices(SOUND),
    choices(SOUND),
    st.tuples(choices(SOUND), one_odd).map(lambda both: {**both[0], **both[1]}),
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
@given(X=rows, y=labels, params=parameters)
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
            event("fitted")
            check(models[0], X)
            np.testing.assert_array_equal(models[0].prototypes_, models[1].prototypes_)
    except (ValueError, TypeError) as error:
        message = str(error)
    except RuntimeError as error:
        message = str(error) if "Training diverged" in str(error) else "x"
    assert message == "" or len(message) > 20

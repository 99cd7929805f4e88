"""What the displays and `explore` say of objects that they do not take."""

import re

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_equivae import (
    EquiVAEClassifier,
    EquiVAETransformer,
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LatentUsageDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
    TrainingHistoryDisplay,
    explore,
)

USES = {
    "LatentSpaceDisplay": lambda model: LatentSpaceDisplay.from_estimator(model, [[0.0]]),
    "TrainingHistoryDisplay": TrainingHistoryDisplay.from_estimator,
    "LatentUsageDisplay": lambda model: LatentUsageDisplay.from_estimator(model, [[0.0]]),
    "SamplesDisplay": SamplesDisplay.from_estimator,
    "InterpolationDisplay": lambda model: InterpolationDisplay.from_estimator(model, [], []),
    "StyleTransferDisplay": lambda model: StyleTransferDisplay.from_estimator(model, [], []),
    "LatentGridDisplay": LatentGridDisplay.from_estimator,
    "explore": lambda model: explore(model, "page.html"),
}


@pytest.fixture(scope="module")
def fitted(blobs):
    """Objects that hold a fitted estimator of this library."""
    quick = {"latent_dim": 2, "max_epochs": 1, "random_state": 0}
    search = GridSearchCV(EquiVAEClassifier(**quick), {"m_max": [3]}, cv=2)
    return {
        "last": make_pipeline(StandardScaler(), EquiVAEClassifier(**quick)).fit(*blobs),
        "alone": make_pipeline(EquiVAEClassifier(**quick)).fit(*blobs),
        "middle": make_pipeline(
            StandardScaler(), EquiVAETransformer(**quick), LogisticRegression()
        ).fit(*blobs),
        "search": search.fit(*blobs),
        "other": LogisticRegression().fit(*blobs),
        "class": EquiVAEClassifier,
    }


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize(
    "kind, got, remedy",
    [
        (
            "last",
            "Pipeline",
            "pass the last step, `pipeline[-1]`, and transformed rows, "
            "`pipeline[:-1].transform(X)`.",
        ),
        ("alone", "Pipeline", "pass the last step, `pipeline[-1]`."),
        (
            "middle",
            "Pipeline",
            "pass the step, `pipeline[1]`, and transformed rows, `pipeline[:1].transform(X)`.",
        ),
        ("search", "GridSearchCV", "Of a search pass `search.best_estimator_`."),
        ("other", "LogisticRegression", "`pipeline[:-1].transform(X)`; of a search pass"),
        ("class", "the class EquiVAEClassifier", "Make an instance of it and call `fit` first."),
    ],
)
def test_other_objects_are_refused_with_a_remedy(name, kind, got, remedy, fitted):
    expected = f"{name} expects a fitted EquiVAEClassifier or EquiVAETransformer; got {got}. "
    with pytest.raises(TypeError, match=f"^{re.escape(expected)}.*{re.escape(remedy)}"):
        USES[name](fitted[kind])


@pytest.mark.parametrize("name", USES)
def test_unfitted_estimators_are_refused(name):
    with pytest.raises(NotFittedError):
        USES[name](EquiVAEClassifier())


@pytest.mark.parametrize("kind", ["last", "middle"])
def test_the_remedy_for_a_pipeline_works(kind, fitted, blobs):
    place = {"last": -1, "middle": 1}[kind]
    pipeline, (X, y) = fitted[kind], blobs
    rows = pipeline[:place].transform(X)
    display = LatentSpaceDisplay.from_estimator(pipeline[place], rows, y)
    assert display.invariant.shape == (60, 2)
    SamplesDisplay.from_estimator(fitted["search"].best_estimator_)

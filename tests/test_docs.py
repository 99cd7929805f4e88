"""What the guides show is run."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "choosing.md"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Classes .* have a single labelled row:UserWarning")
def test_choosing():
    """All blocks of the guide, in their order, in one namespace."""
    pytest.importorskip("distributed")
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    namespace: dict = {"__name__": "__main__"}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    for name in ("accuracy", "log_loss", "bound", "pipeline_accuracy", "scores"):
        assert np.isfinite(namespace[name]).all(), name
    assert namespace["accuracy"].mean() > 0.5
    assert namespace["n_labels"].tolist() == [20, 40]
    assert namespace["halving"].n_resources_ == [1, 3]
    assert namespace["by_rows"].n_resources_ == [60, 180]
    assert namespace["on_cluster"].best_params_["m_max"] in (3, 7)
    study = namespace["study"]
    assert len(study.trials) == 5
    assert all(trial.intermediate_values for trial in study.trials)
    states = {trial.state for trial in study.trials}
    assert optuna.trial.TrialState.FAIL not in states
    for path in re.findall(r"python (examples/\S+\.py)", GUIDE.read_text()):
        assert (ROOT / path).exists()

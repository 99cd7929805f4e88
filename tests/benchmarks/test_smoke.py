"""One line of each study, from nothing, on tiny data."""

import json

import numpy as np
import pytest
from joblib import parallel_config

from benchmarks.__main__ import main
from benchmarks.registry import METHODS, STUDIES
from benchmarks.results import read
from benchmarks.runner import run_study

# The cheapest that shows every kind of method, setting and measurement of a study.
LINES = {
    "paper": {"datasets": ["mnist"], "labels": [100], "methods": ["network", "m1m2"]},
    "few_labels": {"datasets": ["iris"], "methods": ["equivae", "fixmatch", "svc", "trees"]},
    "more_data": {"datasets": ["series"], "labels": [50], "methods": ["equivae", "logistic"]},
    "ablation": {"datasets": ["digits-rows"], "settings": ["default", "graph", "batch_norm"]},
    "robustness": {"labels": [100], "methods": ["selftraining"]},
    "generation": {"datasets": ["digits"], "settings": ["default"]},
    "speed": {"settings": ["complements", "classes", "loop", "inference"]},
}
FIELDS = {
    "study", "dataset", "labels", "method", "setting", "seed", "config", "versions", "commit",
    "fingerprint", "date", "wall", "cpu", "threads", "errors", "measures",
}  # fmt: skip


def test_every_study_has_a_line_here():
    assert LINES.keys() == STUDIES.keys()


@pytest.mark.parametrize("study", LINES)
def test_study(study, data, tmp_path):
    run_study(study, smoke=True, data=data, folder=tmp_path, seeds=[0], **LINES[study])
    results = read(study, tmp_path)
    assert results
    for result in results:
        assert result.keys() >= FIELDS
        assert all(0 <= error <= 100 for error in result["errors"].values())
        assert result["wall"] > 0
        assert len(json.dumps(result)) < 2_500
    assert {r["method"] for r in results} == {*LINES[study].get("methods", ["equivae"])}


def test_measures(data, tmp_path):
    """What generation measures, beside errors."""
    run_study("generation", smoke=True, folder=tmp_path, seeds=[0], **LINES["generation"])
    measures = read("generation", tmp_path)[0]["measures"]
    probed = {"f_inv", "v_mean", "v_drawn", "v_mean_relative", "v_drawn_relative", "v_returned"}
    assert measures["probes"].keys() == probed
    assert measures["kl_v"] > 0
    assert np.isfinite(measures["bound"])
    assert {"class_kept", "style_nearer", "samples", "judge", "mse", "mse_pca"} <= measures.keys()


@pytest.mark.parametrize("method", ["m2", "siddharth", "aae", "equivae-neural"])
def test_peers_of_the_paper(method, data, tmp_path):
    chosen = {"datasets": ["mnist"], "labels": [100], "methods": [method], "seeds": [0]}
    run_study("paper", smoke=True, data=data, folder=tmp_path, settings=["default"], **chosen)
    (result,) = read("paper", tmp_path)
    assert 0 <= result["errors"]["predict"] <= 100
    assert (result["n_unlabeled"] == 0) == METHODS[method].labeled_only


def test_figures_of_rebuilt_data_say_so(data, tmp_path):
    chosen = {"datasets": ["svhn"], "labels": [100], "methods": ["network"], "seeds": [0]}
    run_study("paper", smoke=True, data=data, folder=tmp_path, settings=["default"], **chosen)
    assert read("paper", tmp_path)[0]["note"] == "rebuilt from a 28x28 copy"


def test_command_line(data, capsys):
    options = ["--datasets", "iris", "--methods", "svc", "--seeds", "0", "--smoke"]
    assert main(["run", "few_labels", *options, "--data", str(data)]) == 0
    output = capsys.readouterr()
    assert "[1/1] few_labels: iris, 15 labels, svc, default, seed 0: predict" in output.out
    assert "Results of this smoke run" in output.err
    assert main(["run", "few_labels", *options[:-1], "--dry-run"]) == 0
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in (*STUDIES, *METHODS))
    assert main(["run", "few_labels", *options, "--settings", "none"]) == 1
    assert "Expected a setting" in capsys.readouterr().err


def test_jobs(tmp_path):
    """Two at a time write into one file; threads here, since processes take long to start."""
    chosen = {"datasets": ["iris"], "methods": ["spreading", "logistic"], "seeds": [0, 1]}
    with parallel_config(backend="threading"):
        run_study("few_labels", smoke=True, folder=tmp_path, jobs=2, **chosen)
    assert len(read("few_labels", tmp_path)) == 4

"""A result is stale if, and only if, the code behind it has changed."""

import inspect
import shutil
import sys
from importlib import import_module

import numpy as np
import pytest

from benchmarks import fingerprint as module
from benchmarks.__main__ import main
from benchmarks.fingerprint import fingerprint
from benchmarks.registry import STUDIES, Run, all_runs_of, runs_of
from benchmarks.results import ROOT, read, tidy
from benchmarks.runner import run_study, stale
from sk_equivae import EquiVAEClassifier, Objective

IRIS = {"datasets": ["iris"], "seeds": [0]}
VOWEL = "equivae on vowel"


def prints():
    """The fingerprint of each method of two studies, of EquiVAE on images and on a table."""
    for function in (module.digest_of, module._closure, module._tree, module._names):
        function.cache_clear()
    found = {}
    for study in "paper", "few_labels":
        place = {"datasets": ["mnist"], "labels": [100], "settings": ["default"], "seeds": [0]}
        for run in all_runs_of(STUDIES[study], **place):
            found[run.method] = fingerprint(run)
    return found | {VOWEL: fingerprint(Run("few_labels", "vowel", 55, "equivae", "default", 0))}


@pytest.fixture
def change(tmp_path, monkeypatch):
    """Replace a text in a copy of the sources; which methods have another fingerprint then."""
    before = prints()
    for name in ("benchmarks", "sk_equivae"):
        ignore = shutil.ignore_patterns("results", "__pycache__", "static")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    monkeypatch.setattr(module, "ROOT", tmp_path)

    def changed(name, old, new):
        path = tmp_path / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        after = prints()
        return {method for method in before if before[method] != after[method]}

    yield changed
    monkeypatch.undo()
    prints()


EQUIVAE = {"equivae", VOWEL, "equivae-neural"}
NETWORKS = {*EQUIVAE, "network", "fixmatch", "m2", "m1m2", "siddharth", "aae"}


def test_comments_and_docstrings_do_not_count(change):
    networks = "sk_equivae/model/networks.py"
    assert not change(networks, '"""The networks of', '"""Networks of')
    assert not change(networks, "MAX_GRID = 2\n", "MAX_GRID = 2  # a comment\n")
    assert not change("sk_equivae/display/mosaic.py", "def ", "def other_")
    assert not change("benchmarks/methods.py", '"label network, FixMatch"', '"FixMatch"')


def test_what_users_pass_does_not_count(change):
    """Frames, labels that are texts, and checks: the rows of the benchmarks are plain arrays."""
    estimators = "sk_equivae/estimators"
    assert not change(f"{estimators}/labels.py", "UNLABELED = -1", "UNLABELED = -2")
    assert not change(f"{estimators}/mistakes.py", "def check_units(", "def check_other_units(")
    assert not change(f"{estimators}/classifier.py", "return accuracy_score(", "return float(")
    assert change(f"{estimators}/base.py", "n_rows = 1 if incremental", "n_rows = 3 if incremental")


@pytest.mark.parametrize(
    "name, old, new, methods",
    [
        ("sk_equivae/model/networks.py", "MAX_GRID = 2\n", "MAX_GRID = 3\n", NETWORKS),
        ("sk_equivae/training/terms.py", "def log_q_y(", "def log_p_y(", EQUIVAE),
        ("sk_equivae/training/pictures.py", "math.radians(", "float(",
         {"equivae", "equivae-neural", "network", "fixmatch"}),
        ("benchmarks/peers/vae.py", "KL_WARMUP = 0.4", "KL_WARMUP = 0.5", {"m1m2"}),
        ("benchmarks/peers/aae.py", "def says(", "def tells(", {"aae"}),
        ("benchmarks/methods.py", "PCA(50,", "PCA(40,",
         {"spreading-pca", "selftraining-pca", "neighbors-pca"}),
    ],
)  # fmt: skip
def test_code_counts_for_those_who_use_it(change, name, old, new, methods):
    assert change(name, old, new) == methods


def test_tables_alone_are_stale_if_what_only_they_use_has_changed(change):
    name = "sk_equivae/training/pseudo_labels/pooling.py"
    assert change(name, "LEAST_GAIN = 0.25", "LEAST_GAIN = 0.5") == {VOWEL}


def test_images_do_not_depend_on_what_only_tables_use():
    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(40, 8, 8)), np.repeat([0, 1, -1, -1], 10)
    found = [
        EquiVAEClassifier(objective=objective, max_epochs=1, random_state=0).fit(X, y).prototypes_
        for objective in (Objective(), Objective(experts=None, discriminant=None))
    ]
    np.testing.assert_array_equal(*found)


def test_tables_do_not_use_what_is_for_images():
    files = {inspect.getfile(import_module(name)) for name in module.OF_IMAGES}
    called = set()

    def note(frame, event, argument):
        called.add(frame.f_code.co_filename)

    rng = np.random.RandomState(0)
    X, y = rng.uniform(size=(40, 3)), np.repeat([0, 1, -1, -1], 10)
    sys.setprofile(note)
    try:
        EquiVAEClassifier(max_epochs=1, random_state=0).fit(X, y).predict(X)
    finally:
        sys.setprofile(None)
    assert inspect.getfile(EquiVAEClassifier.fit) in called
    assert not called & files


def test_everything_depends_on_its_rows(change):
    everything = change("benchmarks/data/draws.py", "y = np.full(len(truth), -1)", "y = truth")
    assert everything == {*prints()}


def test_settings_and_options_count():
    ablation = runs_of(STUDIES["ablation"], datasets=["digits"], seeds=[0])
    assert len({fingerprint(run) for run in ablation}) == len(ablation)
    usual = Run("few_labels", "digits", 50, "svc", "default", 0)
    assert fingerprint(usual) == fingerprint(usual._replace(seed=1, labels=100))
    assert fingerprint(usual) != fingerprint(usual._replace(method="logistic"))


def test_stale_results_are_measured_again(tmp_path, monkeypatch):
    run_study("few_labels", smoke=True, folder=tmp_path, methods=["svc", "logistic"], **IRIS)
    assert not stale(["few_labels"], tmp_path)
    path = tmp_path / "few_labels.jsonl"
    first = read("few_labels", tmp_path)[0]
    path.write_text(path.read_text().replace(first["fingerprint"], "0.1"))
    assert [r["method"] for r in stale(["few_labels"], tmp_path)] == ["svc"]

    run_study("few_labels", smoke=True, folder=tmp_path, again=True, methods=["logistic"])
    assert stale(["few_labels"], tmp_path)
    run_study("few_labels", smoke=True, folder=tmp_path, again=True)
    assert not stale(["few_labels"], tmp_path)
    assert len(path.read_text().splitlines()) == 2


def test_stale_results_are_dropped(tmp_path):
    run_study("few_labels", smoke=True, folder=tmp_path, methods=["svc", "logistic"], **IRIS)
    first, second = read("few_labels", tmp_path)
    tidy("few_labels", tmp_path, without=[first])
    assert read("few_labels", tmp_path) == [second]


def test_result_of_something_unknown_is_stale(tmp_path):
    run_study("few_labels", smoke=True, folder=tmp_path, methods=["svc"], **IRIS)
    path = tmp_path / "few_labels.jsonl"
    path.write_text(path.read_text().replace('"svc"', '"gone"'))
    assert len(stale(["few_labels"], tmp_path)) == 1
    run_study("few_labels", smoke=True, folder=tmp_path, again=True)


def test_command(capsys):
    assert main(["stale", "speed", "generation"]) == 0
    assert capsys.readouterr().out.endswith("results are stale.\n")

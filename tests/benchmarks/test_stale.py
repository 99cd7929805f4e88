"""A result is stale if, and only if, the code behind it has changed."""

import shutil

import pytest

from benchmarks import fingerprint as module
from benchmarks.__main__ import main
from benchmarks.fingerprint import fingerprint
from benchmarks.registry import STUDIES, Run, all_runs_of, runs_of
from benchmarks.results import ROOT, read, tidy
from benchmarks.runner import run_study, stale

IRIS = {"datasets": ["iris"], "seeds": [0]}


def prints():
    """The fingerprint of each method of two studies."""
    for function in (module.digest_of, module._closure, module._tree, module._names):
        function.cache_clear()
    found = {}
    for study, dataset, labels in ("paper", "mnist", 100), ("few_labels", "vowel", 55):
        place = {"datasets": [dataset], "labels": [labels], "settings": ["default"], "seeds": [0]}
        for run in all_runs_of(STUDIES[study], **place):
            found[run.method] = fingerprint(run)
    return found


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


NETWORKS = {"equivae", "equivae-neural", "network", "fixmatch", "m2", "m1m2", "siddharth", "aae"}


def test_comments_and_docstrings_do_not_count(change):
    networks = "sk_equivae/model/networks.py"
    assert not change(networks, '"""The networks of', '"""Networks of')
    assert not change(networks, "MAX_GRID = 2\n", "MAX_GRID = 2  # a comment\n")
    assert not change("sk_equivae/display/mosaic.py", "def ", "def other_")
    assert not change("benchmarks/methods.py", '"label network, FixMatch"', '"FixMatch"')


@pytest.mark.parametrize(
    "name, old, new, methods",
    [
        ("sk_equivae/model/networks.py", "MAX_GRID = 2\n", "MAX_GRID = 3\n", NETWORKS),
        ("sk_equivae/training/terms.py", "def log_q_y(", "def log_p_y(",
         {"equivae", "equivae-neural"}),
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

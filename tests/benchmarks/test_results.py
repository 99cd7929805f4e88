"""Lines are written whole, runs are resumed, trees with changes are refused."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks import results, runner
from benchmarks.registry import STUDIES, runs_of
from benchmarks.results import DirtyTreeError, append, clean_commit, key_of, read, tidy
from benchmarks.runner import Progress, duration, run_study

CHOSEN = {"datasets": ["iris"], "methods": ["svc", "logistic"], "seeds": [0, 1]}


def line(seed=0, error=1.0, **changed):
    return {
        "study": "few_labels", "dataset": "iris", "labels": 15, "method": "svc",
        "setting": "default", "seed": seed, "fingerprint": "0.1", "commit": "0", "wall": 1.0,
        "errors": {"predict": error}, "measures": {}, **changed,
    }  # fmt: skip


def test_later_line_counts(tmp_path):
    for result in (line(1), line(0), line(1, 2.0)):
        append(result, tmp_path)
    tidy("few_labels", tmp_path)
    assert [r["seed"] for r in read("few_labels", tmp_path)] == [0, 1]
    text = (tmp_path / "few_labels.jsonl").read_text()
    assert [json.loads(t)["errors"]["predict"] for t in text.splitlines()] == [1.0, 2.0]


def test_line_that_is_not_whole_is_cut_off(tmp_path):
    append(line(0), tmp_path)
    path = tmp_path / "few_labels.jsonl"
    with open(path, "a") as file:
        file.write('{"study":"few_labels","data')
    assert len(read("few_labels", tmp_path)) == 1
    append(line(1), tmp_path)
    assert len(read("few_labels", tmp_path)) == 2
    path.write_text("no result\n")
    with pytest.raises(ValueError, match="line 1 is no result"):
        read("few_labels", tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
import benchmarks.studies
from benchmarks import runner

whole, n_done = runner.append, []

def append(result, folder):
    if len(n_done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    n_done.append(whole(result, folder))

runner.append = append
runner.run_study("few_labels", smoke=True, folder=Path(sys.argv[1]), datasets=["iris"],
                 methods=["svc", "logistic"], seeds=[0, 1])
"""


def test_goes_on_after_a_kill(tmp_path, capsys):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, cwd=results.ROOT, env=environment, capture_output=True)
    assert done.returncode < 0, done.stderr
    before = read("few_labels", tmp_path)
    assert len(before) == 2
    run_study("few_labels", smoke=True, folder=tmp_path, **CHOSEN)
    assert "2 runs to do; about" in capsys.readouterr().out
    after = read("few_labels", tmp_path)
    assert {key_of(r) for r in after} == {*runs_of(STUDIES["few_labels"], **CHOSEN)}
    assert all(result in after for result in before)


def test_time_left(tmp_path):
    runs = runs_of(STUDIES["few_labels"], **CHOSEN)
    progress = Progress(runs, [line(wall=50.0), line(wall=150.0)], jobs=2)
    assert progress.left() == "; about 3.3 min left"
    text = progress.step(line(wall=100.0))
    assert text.startswith("[1/4] few_labels: iris, 15 labels, svc, default, seed 0: predict 1.00%")
    assert text.endswith("1.7 min; about 2.5 min left")
    assert [duration(seconds) for seconds in (4.51, 272, 20_000)] == ["4.5 s", "4.5 min", "5.6 h"]


# ---------------------------------------------------------------- trees with changes


@pytest.fixture
def tree(tmp_path):
    """A repository with one commit."""

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    for name in ("code.py", "README.md", "docs/page.txt", "benchmarks/results/a.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return tmp_path


def test_clean_tree_has_a_commit(tree):
    commit = clean_commit(tree)
    assert len(commit) == 12
    for name in ("README.md", "docs/page.txt", "docs/new.png", "benchmarks/results/b.jsonl"):
        (tree / name).write_text("2\n")
    assert clean_commit(tree) == commit


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_changes_are_refused(tree, name, tmp_path_factory, monkeypatch):
    (tree / name).write_text("2\n")
    with pytest.raises(DirtyTreeError, match=rf"uncommitted changes[^$]*{name}[^$]*--smoke"):
        clean_commit(tree)
    folder = tmp_path_factory.mktemp("results")
    monkeypatch.setattr(runner, "measure", lambda *_: pytest.fail("nothing may be measured"))
    with pytest.raises(DirtyTreeError):
        run_study("few_labels", folder=folder, root=tree, **CHOSEN)
    assert not read("few_labels", folder)
    run_study("few_labels", folder=folder, root=tree, dry_run=True, **CHOSEN)


def test_no_repository_is_refused(tmp_path):
    with pytest.raises(DirtyTreeError, match="git repository"):
        clean_commit(tmp_path)


def test_result_names_its_commit(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    chosen = {"datasets": ["iris"], "methods": ["svc"], "seeds": [0]}
    run_study("few_labels", folder=folder, root=tree, **chosen)
    (result,) = read("few_labels", folder)
    assert result["commit"] == clean_commit(tree)
    assert result["errors"]["predict"] < 30


def test_runs_that_serve_another_study_are_measured_once():
    chosen = {"datasets": ["mnist"], "labels": [100], "settings": ["default"]}
    for seeds in (None, [0, 99]):  # those of the data set, and others
        runs = runs_of(STUDIES["paper"], **chosen, seeds=seeds)
        assert {run.method for run in runs}.isdisjoint({"equivae", "network"})
        assert "m2" in {run.method for run in runs}

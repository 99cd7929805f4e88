"""Runs what is not there yet, and says how long it will take."""

import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import joblib
import numpy as np
import torch
from joblib import Parallel, delayed

from benchmarks import results
from benchmarks.fingerprint import fingerprint
from benchmarks.job import Job
from benchmarks.registry import DATASETS, METHODS, STUDIES, Run, runs_of
from benchmarks.results import FOLDER, ROOT, Result, append, clean_commit, key_of, read, tidy


def measure(
    run: Run, commit: str, data: Path | None, smoke: bool, folder: Path, threads: int | None = None
) -> Result:
    """Measure a run and write its line, here or in a process of joblib's."""
    import benchmarks.studies  # noqa: F401 (such a process has imported nothing but this module)

    if threads is not None:
        torch.set_num_threads(threads)
    job = Job(run, data, smoke)
    result = {
        **run._asdict(),
        "config": job.config(),
        "versions": results.versions(),
        "commit": commit,
        "fingerprint": fingerprint(run),
        "date": time.strftime("%Y-%m-%d"),
        **job.study.measure(job),
    }
    append(result, folder)
    return result


def is_registered(run: Run) -> bool:
    known = run.dataset in DATASETS and run.method in METHODS
    return known and run.setting in STUDIES[run.study].settings


def stale(studies: Iterable[str] | None = None, folder: Path = FOLDER) -> list[Result]:
    """Results whose code has changed since, or is there no longer."""
    found = (result for study in studies or STUDIES for result in read(study, folder))
    return [
        result
        for result in found
        if not is_registered(key_of(result)) or result["fingerprint"] != fingerprint(key_of(result))
    ]


def to_do(study: str, folder: Path, again: bool, **chosen: Sequence | None) -> list[Run]:
    """The runs without a result, or those whose results are stale; of those asked for."""
    if not again:
        there = {key_of(result) for result in read(study, folder)}
        return [run for run in runs_of(STUDIES[study], **chosen) if run not in there]
    old = (key_of(result) for result in stale([study], folder))
    fields = {"labels": "labels", **{f"{name}s": name for name in Run._fields}}
    wanted = {fields[name]: some for name, some in chosen.items() if some is not None}
    return [
        run
        for run in old
        if is_registered(run) and all(getattr(run, name) in some for name, some in wanted.items())
    ]


def run_study(
    study: str, *, again: bool = False, jobs: int = 1, data: Path | None = None,
    smoke: bool = False, dry_run: bool = False, folder: Path | None = None, root: Path = ROOT,
    **chosen: Sequence | None,
) -> Path:  # fmt: skip
    """Measure the runs of a study that have no result yet; the folder of the results.

    With `again`, those whose results are stale instead. A smoke run has one epoch on a slice of the
    data, and its results go to a temporary folder; a dry run only says what would be run. What is
    `chosen` (datasets, labels, methods, settings, seeds) is as for `runs_of`.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="benchmarks-")) if smoke else FOLDER
    commit = "smoke" if smoke else "" if dry_run else clean_commit(root)
    runs = to_do(study, folder, again, **chosen)
    progress = Progress(runs, read(study, folder), jobs)
    print(f"{study}: {len(runs)} runs to do{progress.left()}", flush=True)
    if dry_run:
        print("\n".join(map(str, runs)))
        return folder
    threads = None if jobs == 1 else max(1, joblib.cpu_count() // jobs)
    try:
        work = (delayed(measure)(run, commit, data, smoke, folder, threads) for run in runs)
        for result in Parallel(n_jobs=jobs, return_as="generator")(work):
            print(progress.step(result), flush=True)
    finally:
        tidy(study, folder)
    if smoke:
        print(f"Results of this smoke run: {folder}", file=sys.stderr)
    return folder


class Progress:
    """How many runs are over, and how long the others will take: as long as others like them."""

    def __init__(self, runs: list[Run], results: list[Result], jobs: int = 1):
        self.runs, self.jobs, self.n_done = runs, jobs, 0
        self.seconds: dict[tuple[str, ...], list[float]] = {}
        for result in results:
            self._learn(result)

    def _learn(self, result: Result) -> None:
        kind = result["dataset"], result["method"], result["setting"]
        self.seconds.setdefault(kind, []).append(result["wall"])

    def step(self, result: Result) -> str:
        """Note a result; a line about it."""
        self._learn(result)
        self.n_done += 1
        errors = "".join(f"{rule} {error:.2f}%, " for rule, error in result["errors"].items())
        count = f"[{self.n_done:{len(str(len(self.runs)))}}/{len(self.runs)}]"
        return f"{count} {key_of(result)}: {errors}{duration(result['wall'])}{self.left()}"

    def left(self) -> str:
        """The time that is left, in words; nothing if it is not known."""
        rest = self.runs[self.n_done :]
        known = [value for values in self.seconds.values() for value in values]
        if not rest or not known:
            return ""
        kinds = ((run.dataset, run.method, run.setting) for run in rest)
        expected = sum(float(np.mean(self.seconds.get(kind, known))) for kind in kinds)
        return f"; about {duration(expected / self.jobs)} left"


def duration(seconds: float) -> str:
    """Seconds in words: "4.5 s", "4.5 min" or "5.6 h"."""
    for unit, size in ("h", 3_600), ("min", 60):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"

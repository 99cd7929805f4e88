"""Runs what is not there yet, and says how long it will take."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
import torch
from joblib import Parallel, delayed

from benchmarks.fingerprint import fingerprint
from benchmarks.job import Job
from benchmarks.registry import DATASETS, METHODS, STUDIES, Run, runs_of
from benchmarks.results import (
    FOLDER,
    ROOT,
    Result,
    append,
    clean_commit,
    key_of,
    read,
    tidy,
    versions,
)


def measure(run: Run, commit: str, data: Path | None, smoke: bool) -> Result:
    """The line of one run."""
    job = Job(run, data, smoke)
    figures = job.study.measure(job)
    return {
        **run._asdict(),
        "config": job.config(),
        "versions": versions(),
        "commit": commit,
        "fingerprint": fingerprint(run),
        "date": time.strftime("%Y-%m-%d"),
        **figures,
    }


def _work(
    run: Run, commit: str, data: Path | None, smoke: bool, folder: Path, threads: int | None
) -> Result:
    """Measure a run and write its line, here or in a process of joblib's."""
    # a process of joblib's has imported nothing but this module
    from benchmarks import studies  # noqa: F401

    if threads is not None:
        torch.set_num_threads(threads)
    result = measure(run, commit, data, smoke)
    append(result, folder)
    return result


def stale(studies: Sequence[str] | None = None, folder: Path = FOLDER) -> list[Result]:
    """Results whose code has changed since, or which are of no study any more."""
    return [
        result for study in studies or STUDIES for result in read(study, folder) if is_stale(result)
    ]


def is_stale(result: Result) -> bool:
    """Whether a result's code has changed since."""
    try:
        return result["fingerprint"] != fingerprint(key_of(result))
    except KeyError:  # of a method, data set or setting that is there no longer
        return True


def to_do(
    study: str, folder: Path, again: bool = False, **chosen: Sequence | None
) -> tuple[list[Run], list[Result]]:
    """The runs that are to be measured, and the results that are there."""
    results = read(study, folder)
    if again:
        old = [key_of(result) for result in results if is_stale(result)]
        names = [name.removesuffix("s") if name != "labels" else name for name in chosen]
        wanted = dict(zip(names, chosen.values(), strict=True))
        return [run for run in old if _is_wanted(run, wanted)], results
    there = {key_of(result) for result in results}
    return [run for run in runs_of(STUDIES[study], **chosen) if run not in there], results


def _is_wanted(run: Run, wanted: dict[str, Sequence | None]) -> bool:
    """Whether a run was asked for, and is one of what is registered."""
    registered = (
        run.dataset in DATASETS
        and run.method in METHODS
        and run.setting in STUDIES[run.study].settings
    )
    return registered and all(
        some is None or getattr(run, name) in some for name, some in wanted.items()
    )


def run_study(
    study: str,
    *,
    again: bool = False,
    jobs: int = 1,
    data: Path | None = None,
    smoke: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
    root: Path = ROOT,
    **chosen: Sequence | None,
) -> Path:
    """Measure the runs of a study that have no result yet; the folder of the results.

    Parameters
    ----------
    study : str
    again : bool
        Measure those again whose results are stale, instead.
    jobs : int
        Runs at a time.
    data : Path, optional
        The folder of the data sets.
    smoke : bool
        One epoch on a slice of the data; results go to a temporary folder.
    dry_run : bool
        Say what would be run.
    folder : Path, optional
        Of the results.
    root : Path
        The source tree, which must have no uncommitted changes.
    **chosen : sequences
        `datasets`, `labels`, `methods`, `settings` and `seeds`; see `runs_of`.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="benchmarks-")) if smoke else FOLDER
    commit = "smoke" if smoke else "" if dry_run else clean_commit(root)
    runs, results = to_do(study, folder, again, **chosen)
    progress = Progress(runs, results, jobs)
    print(f"{study}: {len(results)} results, {len(runs)} runs to do{progress.left()}", flush=True)
    if dry_run:
        print("\n".join(map(str, runs)))
        return folder
    threads = None if jobs == 1 else max(1, joblib.cpu_count() // jobs)
    try:
        work = (delayed(_work)(run, commit, data, smoke, folder, threads) for run in runs)
        for result in Parallel(n_jobs=jobs, return_as="generator")(work):
            print(progress.step(result), flush=True)
    finally:
        tidy(study, folder)
    if smoke:
        print(f"Results of this smoke run: {folder}", file=sys.stderr)
    return folder


class Progress:
    """How many runs are over, and how long the others will take.

    A run is taken to last as long as others of its data set and method did, of this study or
    before; if there are none, as long as the average of those that are over.

    Parameters
    ----------
    runs : list of Run
    results : list of dict
        Those of before.
    jobs : int
    """

    def __init__(self, runs: list[Run], results: list[Result], jobs: int = 1):
        self.runs = list(runs)
        self.jobs = jobs
        self.n_done = 0
        self.seconds: dict[tuple[str, ...], list[float]] = {}
        for result in results:
            self._learn(result)

    def _learn(self, result: Result) -> None:
        kind = result["dataset"], result["method"], result["setting"]
        if result["wall"] is not None:  # not known of some results of version 0.1
            self.seconds.setdefault(kind, []).append(result["wall"])

    def step(self, result: Result) -> str:
        """Note a result; a line about it."""
        self._learn(result)
        self.n_done += 1
        errors = ", ".join(f"{rule} {error:.2f}%" for rule, error in result["errors"].items())
        width = len(str(len(self.runs)))
        return (
            f"[{self.n_done:{width}}/{len(self.runs)}] {key_of(result)}: "
            f"{errors}{', ' if errors else ''}{duration(result['wall'])}{self.left()}"
        )

    def left(self) -> str:
        """The time that is left, in words; nothing if it is not known."""
        rest = self.runs[self.n_done :]
        known = [value for values in self.seconds.values() for value in values]
        if not rest or not known:
            return ""
        usual = float(np.mean(known))
        expected = [
            float(np.mean(self.seconds.get((run.dataset, run.method, run.setting), [usual])))
            for run in rest
        ]
        return f"; about {duration(sum(expected) / self.jobs)} left"


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(4.51), duration(272), duration(20_000)
    ('4.5 s', '4.5 min', '5.6 h')
    """
    for unit, size in ("h", 3_600), ("min", 60):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"

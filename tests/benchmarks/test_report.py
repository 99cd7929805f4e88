"""The report comes from the results alone, and is what is in the repository."""

import re

import numpy as np
import pytest

from benchmarks import report
from benchmarks.registry import DATASETS, METHODS, STUDIES
from benchmarks.report.sections import SECTIONS
from benchmarks.report.tables import DASH, comparison, paired_p_value, summary
from benchmarks.results import FOLDER, ROOT, append, key_of, read


def line(study="few_labels", **changed):
    return {
        "study": study, "dataset": "digits", "labels": 50, "method": "equivae",
        "setting": "default", "seed": 0, "fingerprint": "abc", "commit": "0", "wall": 2.0,
        "cpu": 2.0, "threads": 1, "errors": {"prototype": 1.0}, "measures": {}, **changed,
    }  # fmt: skip


def test_rebuilding_changes_nothing(tmp_path):
    report.write_report(root=tmp_path)
    made = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert {str(p) for p in made} == {
        "README.md", "benchmarks/RESULTS.md", "benchmarks/SEEDS.md", "docs/paper.png",
        "docs/speed.png",
    }  # fmt: skip
    for path, content in made.items():
        if path.suffix == ".md":
            assert content == (ROOT / path).read_bytes(), "run `python -m benchmarks report`"
    report.write_report(root=tmp_path)
    assert {path: (tmp_path / path).read_bytes() for path in made} == made


def test_results_of_the_repository_load():
    n_bytes = 0
    for study in STUDIES:
        results = read(study)
        path = FOLDER / f"{study}.jsonl"
        n_bytes += path.stat().st_size if path.exists() else 0
        assert len({key_of(r) for r in results}) == len(results)
        for result in results:
            assert result["dataset"] in DATASETS
            assert result["method"] in METHODS
            assert result["setting"] in STUDIES[study].settings
            assert re.fullmatch("[0-9a-f]{7,12}", result["commit"]), "of a tree with changes"
            assert {"config", "versions", "wall", "cpu", "threads", "measures"} <= result.keys()
            assert all(np.isfinite(error) for error in result["errors"].values())
    assert 0 < n_bytes < 1_500_000


def test_only_jsonl_files_are_among_the_results():
    assert {path.suffix for path in FOLDER.iterdir()} == {".jsonl"}


def test_empty_results_are_dashes(tmp_path):
    made = report.tables(tmp_path)
    assert made.keys() == SECTIONS.keys()
    assert "not measured yet" in made["few_labels"]
    assert f"/ {DASH}" not in made["supervised"].split("12.30")[0].split("\n")[0]
    assert "0.82 ± 0.05" in made["supervised"]
    assert f"| {DASH} |" in made["speed"]


def test_cells(tmp_path):
    for seed, error in enumerate([1.0, 2.0, 6.0]):
        append(line(seed=seed, errors={"prototype": error}), tmp_path)
        append(line(seed=seed, method="svc", errors={"predict": error + 2}), tmp_path)
    append(line(method="trees", errors={"predict": 9.0}), tmp_path)
    append(line(method="fixmatch", errors={"predict": 9.0}), tmp_path)
    table = report.tables(tmp_path)["few_labels"]
    assert "| EquiVAE, prototype | 3.00 ± 1.53, worst 6.00 (3) | - | 2.0 |" in table
    assert "| ExtraTrees (300), labels alone | 9.00 (1) |" in table
    assert "FixMatch on EquiVAE's body" in table
    paired = report.tables(tmp_path)["few_labels_paired"]
    assert "| SVC (C=10), labels alone | ahead by 2.00, 3 of 3 |" in paired
    seeds = report.seeds_text(tmp_path)
    assert "| digits 8x8 | 50 | EquiVAE, prototype | 0: 1.00, 1: 2.00, 2: 6.00 |" in seeds


def test_calibration_and_speed(tmp_path):
    measures = {"predict": {"log_loss": 0.5, "ece": 2.0, "noise": 40.0}}
    errors = {"predict": 3.0}
    append(line("few_labels", method="trees", measures=measures, errors=errors), tmp_path)
    figures = {"ratio": 1.2, "lower": 1.1, "upper": 1.3, "seconds": [1.2, 1.0], "n": 3}
    measures = {"m_max 10 to 1": figures}
    append(line("speed", setting="complements", measures=measures, errors={}), tmp_path)
    made = report.tables(tmp_path)
    assert "| 3.00 (1) | 0.500 (1) | 2.00 (1) | 40.0 (1) |" in made["calibration"]
    assert "| 1.20 (1.10 to 1.30) | 1.2 / 1 | 1 | ≤ 1.10 |" in made["speed"]


def test_statistics():
    assert summary([]) == DASH
    assert paired_p_value([1.0]) is None
    assert paired_p_value([1.0, 1.0]) is None
    assert paired_p_value([0.0] * 7) == 1.0
    assert paired_p_value([1.0, 0.0, 0.0, 2.0, 2.0, 3.0, 1.0]) < 0.2
    assert comparison({0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.5}).startswith("behind by 0.75, 2 of 2")
    assert comparison({0: 2.0}, {1: 1.0}) == DASH
    assert comparison({0: 2.0}, {0: 2.0}) == "level by 0.00, 1 of 1"


def test_fill_needs_its_mark():
    with pytest.raises(ValueError, match="results: speed"):
        report.fill("no marks", "speed", "| table |")

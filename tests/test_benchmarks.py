"""A smoke run of each benchmark, and the results files."""

import json

import pytest

from benchmarks import digits, results


def test_digits(tmp_path, capsys):
    options = ["--smoke", "--seeds", "0", "--labels", "5", "--output", str(tmp_path)]
    digits.main(options)
    table = capsys.readouterr().out
    for method in digits.METHODS:
        assert method in table
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == len(digits.METHODS)
    result = json.loads(files[0].read_text())
    assert {"config", "versions", "commit", "wall_seconds", "cpu"} <= result.keys()
    assert result["config"]["seed"] == 0


def test_a_result_is_not_measured_twice(tmp_path):
    path = tmp_path / "one.json"
    first = results.run_once(path, {"seed": 0}, lambda: {"error": 1.0})
    again = results.run_once(path, {"seed": 0}, lambda: pytest.fail("measured again"))
    assert again == first


def test_a_killed_run_leaves_nothing(tmp_path):
    def killed():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results.run_once(tmp_path / "one.json", {}, killed)
    assert list(tmp_path.iterdir()) == []


def test_standard_error_is_the_papers(tmp_path):
    """Standard deviation divided by the root of N - 1."""
    for seed, error in enumerate([1.0, 2.0, 6.0]):
        config = {"method": "LabelSpreading (knn, 7)", "labels_a_class": 5, "seed": seed}
        figures = {"config": config, "prototype": {"test_error": error}}
        results.write(tmp_path / f"{seed}.json", figures)
    assert "3.00 ± 1.53 (3)" in digits.table(tmp_path)

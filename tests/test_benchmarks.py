"""The results files."""

import pytest

from benchmarks import results


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


def test_standard_error_is_the_papers():
    """Standard deviation divided by the root of N - 1."""
    assert results.mean_and_error([1.0, 2.0, 6.0]) == "3.00 ± 1.53 (3)"
    assert results.mean_and_error([1.0]) == "1.00 (1)"

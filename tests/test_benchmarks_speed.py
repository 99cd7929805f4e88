"""Smoke runs of the speed benchmark, and that it compares like with like.

The data set is a small stand-in for MNIST: 8x8 digits.
"""

import gc
import json
import time

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from benchmarks import (
    fresh,
    plain,
    results,
    speed,
    speed_errors,
    speed_fits,
    speed_steps,
    speed_table,
    timing,
)
from benchmarks.data import Split
from sk_equivae import EquiVAEClassifier, _label_posterior, _module, _objective
from sk_equivae._networks import Conv, UpConv
from sk_equivae.presets import paper

N_TRAIN = 300


@pytest.fixture(scope="module")
def split():
    X, y = load_digits(return_X_y=True)
    X = (X.reshape(-1, 8, 8) * 15).astype(np.uint8)
    train, valid = slice(N_TRAIN), slice(N_TRAIN, N_TRAIN + 60)
    return Split(X[train], y[train], X[valid], y[valid], X[valid], y[valid])


@pytest.fixture
def bench(split):
    return timing.Bench(split, smoke=True)


@pytest.fixture
def main(split, monkeypatch, tmp_path):
    """A smoke run of some measurements; what needs a fresh process is run in this one."""
    monkeypatch.setattr(speed, "load_mnist", lambda folder: split)
    monkeypatch.setattr(fresh, "run", lambda function, *arguments: function(*arguments))

    def run(*measurements):
        speed.main(["--smoke", "--output", str(tmp_path), "--measurements", *measurements])
        return {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}

    return run


# ---------------------------------------------------------------- smoke runs


def test_steps(main, capsys):
    found = main("complements", "classes", "arithmetic")
    assert found.keys() == {"complements", "classes", "arithmetic"}
    for result in found.values():
        assert {"config", "versions", "commit", "wall_seconds", "cpu"} <= result.keys()
    shares = found["arithmetic"]["share"]
    assert shares["matrix product"] == 1
    assert all(share > 0 for share in shares.values())
    cases = found["classes"]["classes"]
    assert cases.keys() == {"10 start", "10 end", "26 start", "26 end"}
    for case, figures in cases.items():
        assert 1 <= figures["decoded"]["ours"] <= _label_posterior.MAX_PLAUSIBLE
        assert figures["decoded"]["exact"] == pytest.approx(int(case.split()[0]), rel=0.05)
    printed = capsys.readouterr().out
    assert "m_max=4: times a plain reading's speed" in printed
    assert "m_max=4: the plain reading in PyTorch's own layers" in printed
    assert "26 classes, at the end of training" in printed


def test_fits(main, tmp_path, capsys):
    names = "threshold-error", "loop", "inference", "memory", "startup", "to-error-100"
    found = main(*names)
    assert found.keys() == set(names)
    printed = capsys.readouterr().out
    for words in ("default class_threshold", "bare loop", "scikit-learn's MLP", "MB", "Import of"):
        assert words in printed
    sizes = found["inference"]["parameters"]
    assert sizes["mlp"] == pytest.approx(sizes["f_inv"], rel=0.02)
    trained = found["to-error-100"]["training"]
    assert trained.keys() == speed_table.CONTENDERS.keys()
    assert all(figures["looks"] for figures in trained.values())
    assert (tmp_path / "speed.png").stat().st_size < 300_000


def test_pyro(main):
    pytest.importorskip("pyro")
    result = main("pyro")["pyro"]
    assert set(result["unlabelled_rows_per_second"]) == {"ours", "pyro"}


def test_without_pyro(main, monkeypatch, capsys):
    monkeypatch.setattr(speed, "find_spec", lambda _: None)
    assert main("pyro") == {}
    assert "pyro-ppl is not installed" in capsys.readouterr().err


# ---------------------------------------------------------------- like with like


@pytest.mark.parametrize("n_unlabeled", [0, 40])
def test_the_plain_reading_has_our_objective(split, monkeypatch, n_unlabeled):
    """The same value and gradients, where every row of a class stands in for the others."""
    n_labeled = 30
    y = split.y_train[: n_labeled + n_unlabeled].copy()
    y[n_labeled:] = -1
    X = split.X_train[: len(y)]
    most = int(np.bincount(y[:n_labeled]).max())
    monkeypatch.setattr(_objective, "draw_m", lambda m_max, generator: m_max)
    monkeypatch.setattr(_module, "DROPOUT", 0.0)
    monkeypatch.setattr(torch, "randn", lambda shape, **_: torch.zeros(shape))
    labels = 100 if n_unlabeled else None
    parameters = {**paper("mnist", labels), "m_max": most, "dtype": "float64", "random_state": 0}
    values, gradients = [], []
    for reading in ("plain", "written", "ours"):
        start = plain.start_of(EquiVAEClassifier(**parameters), X, y)
        if reading == "written":
            plain.with_plain_layers(start)
            layers = list(start.averaged.modules())
            assert any(type(layer) is torch.nn.ConvTranspose2d for layer in layers)
            assert not any(isinstance(layer, UpConv | Conv) for layer in layers)
        module = start.averaged.train().module
        if reading != "ours":
            value = plain.PlainObjective(start)(np.arange(len(y)), m=most)
        else:
            value = plain.our_objective(start)(start.data[np.arange(len(y))])
        value.backward()
        values.append(value.item())
        gradients.append(
            {
                name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in module.named_parameters()
            }
        )
    *others, ours = gradients
    assert values[:2] == pytest.approx([values[2]] * 2, rel=1e-7)
    for other in others:
        for name, gradient in ours.items():
            torch.testing.assert_close(other[name], gradient, rtol=1e-5, atol=1e-6, msg=name)


def test_complements_of_the_plain_reading(split):
    """m different others of the class, each as often as any other."""
    estimator = EquiVAEClassifier(**paper("mnist"), random_state=0)
    start = plain.start_of(estimator, split.X_train[:100], split.y_train[:100])
    objective = plain.PlainObjective(start)
    row = 57
    code = start.data.codes[row]
    others = np.setdiff1d(np.flatnonzero(start.data.codes == code), [row])
    drawn = [objective._draw(code, 3, objective.place[row]) for _ in range(600)]
    assert all(len(set(some)) == 3 for some in drawn)
    met, counts = np.unique(np.concatenate(drawn), return_counts=True)
    assert met.tolist() == others.tolist()
    expected = 600 * 3 / len(others)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)
    assert sorted(objective._draw(code, 1000, objective.place[row])) == others.tolist()
    assert row in objective._draw(code, 1000)


@pytest.mark.parametrize("parameters", [{}, paper("mnist", 100)])
def test_the_bare_loop_trains_as_fit(split, parameters):
    """To the bit: the same weights, batches, noise, schedule and moving average."""
    X, y = split.X_train[:80], split.y_train[:80].copy()
    y[30:] = -1
    parameters = {**parameters, "batch_size": 16, "max_epochs": 2, "random_state": 0}
    fitted = EquiVAEClassifier(**parameters).fit(X, y).net_.module_
    start = plain.start_of(EquiVAEClassifier(**parameters), X, y)
    before = start.averaged.module.decoder.dense.weight.clone()
    assert plain.train_bare(start)
    assert (start.averaged.module.decoder.dense.weight != before).any()
    for name, weight in fitted.named_parameters():
        torch.testing.assert_close(
            start.averaged.get_parameter(name), weight, rtol=0, atol=0, msg=name
        )


def test_steps_of_rate_0_leave_the_weights(split):
    start = plain.start_of(EquiVAEClassifier(random_state=0), split.X_train, split.y_train)
    before = [p.clone() for p in start.averaged.parameters()]
    batches = speed_steps.batches_of(start, 32, seed=0)
    side = speed_steps.our_side(start, batches)
    assert side() > 0
    assert any(bool(p.grad.any()) for p in start.averaged.module.parameters() if p.grad is not None)
    for old, new in zip(before, start.averaged.parameters(), strict=True):
        torch.testing.assert_close(old, new, rtol=0, atol=1e-6)


def test_m2_sums_over_all_labels(split):
    """The loss of unlabelled rows is the sum over classes, written out."""
    pytest.importorskip("pyro")
    from benchmarks.m2 import M2, TraceEnum_ELBO

    m2 = M2((1, 8, 8), 10, 3, torch.Generator().manual_seed(0)).double()
    x = torch.from_numpy(split.X_train[:7, None] / 240.0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        elbo = TraceEnum_ELBO(max_plate_nesting=1)
        loss = elbo.differentiable_loss(m2.model, m2.guide, x)
        torch.manual_seed(0)
        y = torch.eye(10, dtype=x.dtype)[:, None].expand(10, 7, 10)
        h = m2.encoder.embed(x).expand(10, 7, -1)
        q_z = m2.encoder(h.flatten(0, 1), y.flatten(0, 1)).base_dist
        z = torch.normal(torch.zeros(10, 7, 3).double(), torch.ones(10, 7, 3).double())
        z = q_z.mean + q_z.stddev * z.flatten(0, 1)
    logits = m2.decoder(y.flatten(0, 1), z)
    log_x = torch.distributions.Bernoulli(logits=logits, validate_args=False)
    bound = log_x.log_prob(x.repeat(10, 1, 1, 1)).sum(dim=(1, 2, 3))
    bound = bound + (torch.distributions.Normal(0, 1).log_prob(z) - q_z.log_prob(z)).sum(dim=1)
    q_y = m2.classifier(x).softmax(dim=1)
    expected = (q_y * (bound.reshape(10, 7).T - q_y.log() - np.log(10))).sum()
    assert loss.item() == pytest.approx(-expected.item(), rel=1e-10)


# ---------------------------------------------------------------- the instruments


def test_sides_take_turns():
    calls = []

    def side(name, seconds):
        return lambda: calls.append(name) or seconds[calls.count(name) - 1]

    sides = {"a": side("a", [9.0, 2.0, 4.0, 6.0]), "b": side("b", [9.0, 1.0, 1.0, 2.0])}
    seconds = timing.alternate(sides, 3)
    assert calls == ["a", "b"] * 4
    figures = timing.compare(seconds, "a", "b")
    assert figures["ratio"] == 4
    assert (figures["ratio_lower"], figures["ratio_upper"]) == (2.5, 3.5)
    assert figures["seconds"]["b"] == {"median": 1, "lower": 1, "upper": 1.5}
    assert figures["n"] == 3


def test_flops():
    a = torch.ones(3, 5)
    assert speed_steps.count_flops(lambda: a @ a.T) == 2 * 3 * 5 * 3
    X, y = np.random.RandomState(0).rand(40, 4), np.arange(40) % 2
    fitted = EquiVAEClassifier(max_epochs=1, random_state=0).fit(X, y)
    weights = dict(fitted.net_.module_.predictor.invariant.named_parameters())
    del weights["linear.weight"]  # of training only
    n_weights = sum(p.numel() for p in weights.values() if p.ndim == 2)
    # inference mode does not hide arithmetic
    assert speed_steps.count_flops(lambda: fitted.transform(X)) == 2 * 40 * n_weights


def test_a_fresh_process():
    assert fresh.run(fresh.anonymous_memory) < fresh.anonymous_memory()  # it has no torch
    with pytest.raises(RuntimeError, match=r"transform_memory failed(.|\n)*X\.npy"):
        fresh.run(fresh.transform_memory, "nowhere")


def test_peak_memory(tmp_path):
    """Of what was allocated and given back, but not of a memory map's pages."""
    path = tmp_path / "ones.npy"
    np.save(path, np.ones(60_000_000, np.uint8))
    gc.collect()  # what other tests left must not be given back while it is measured
    with fresh.PeakMemory() as memory:
        assert np.load(path, mmap_mode="r").all()
        time.sleep(0.5)  # for a sample to be taken, on a busy machine too
    assert memory.peak - memory.before < 20
    with fresh.PeakMemory() as memory:
        block = np.ones(60_000_000, np.uint8)
        time.sleep(0.5)  # for a sample to be taken, on a busy machine too
        del block
    assert 55 < memory.peak - memory.before < 80


def test_the_watch_sees_what_predict_says(bench):
    split = bench.split
    y = split.y_train.copy()
    y[150:] = -1
    model = EquiVAEClassifier(max_epochs=2, random_state=0).fit(split.X_train, y)
    watch = speed_errors.Watch(bench, y, model, target=0)
    errors = watch.errors(model.net_.module_.predictor)
    for rule, error in errors.items():
        right = model.set_params(predict_with=rule).score(split.X_valid, split.y_valid)
        assert error == pytest.approx(100 * (1 - right))
    assert 0 < errors["prototype"] < 80


@pytest.mark.parametrize("target, n_steps", [(8.0, 4), (0.0, 7)])
def test_the_watch_stops(bench, monkeypatch, target, n_steps):
    """At the target, or at the limit of time; looks do not count as time."""
    now = 0.0

    def clock():
        return now

    def errors(self, module):
        nonlocal now
        now += 1000.0
        return {rule: series.pop(0) for rule, series in errors_to_come.items()}

    monkeypatch.setattr(speed_errors.time, "perf_counter", clock)
    monkeypatch.setattr(speed_errors.Watch, "errors", errors)
    errors_to_come = {
        "prototype": [50.0, 20.0, 9.0, 7.0, 7.0, 7.0, 7.0],
        "posterior": [50.0, 7.5, 9.0, 9.0, 9.0, 9.0, 9.0],
    }
    y = np.where(np.arange(N_TRAIN) < 100, bench.split.y_train, -1)
    bench.minutes = 1
    watch = speed_errors.Watch(bench, y, EquiVAEClassifier(), target)
    codes = np.array([-1] * 20 + [3] * 10)
    stopped = False
    while not stopped:
        now += 10.0
        stopped = watch(None, codes)
    figures = watch.figures()
    assert figures["seconds"] == 10 * n_steps
    assert not figures["whole"]
    if target:
        assert figures["reached"]["posterior"] == {"seconds": 20.0, "epochs": 0.2}
        assert figures["reached"]["prototype"]["seconds"] == 40.0
    else:
        assert set(figures["reached"].values()) == {None}


def test_shifted_images(split):
    X, y = speed_steps.shifted(split.X_train, 26, 520, seed=0)
    assert (X.shape, X.dtype) == ((520, 8, 8), np.uint8)
    assert np.bincount(y).tolist() == [20] * 26
    totals = split.X_train.reshape(N_TRAIN, -1).sum(axis=1)
    np.testing.assert_array_equal(X.reshape(520, -1).sum(axis=1), totals[y])


# ---------------------------------------------------------------- the table


def test_table(tmp_path):
    assert speed.table(tmp_path) == ""
    speed.plot(tmp_path, tmp_path / "speed.png")
    assert list(tmp_path.iterdir()) == []
    reached = {"posterior": {"seconds": 40.0, "epochs": 0.5}}
    missed = {"posterior": None}
    trained = {
        "plain": {"reached": missed, "seconds": 1800.0, "whole": False, "looks": []},
        "paper": {"reached": missed, "seconds": 600.0, "whole": True, "looks": []},
        "ours": {"reached": reached, "seconds": 41.0, "whole": False, "looks": []},
    }
    result = {"labels": 100, "paper_error": 8.9, "training": trained}
    results.write(tmp_path / "a.json", {"config": {"measurement": "to-error-100"}, **result})
    lines = speed.table(tmp_path).splitlines()
    assert lines[0] == "| | measured | bar |"
    assert lines[2].endswith("| not reached within the first 30 min |  |")
    assert lines[3].endswith("| not reached within the whole training, 10 min |  |")
    assert lines[4].endswith("| 40 s, 0.5 epochs |  |")
    assert lines[5].endswith("| below 0.022 | ≤ 0.1 |")
    assert len(lines) == 6


def test_bare_forward(split):
    model = EquiVAEClassifier(max_epochs=1, random_state=0).fit(split.X_train, split.y_train)
    r = speed_fits.bare_forward(model._module, split.X_valid)
    np.testing.assert_allclose(r.numpy(), model.transform(split.X_valid), rtol=1e-5, atol=1e-6)

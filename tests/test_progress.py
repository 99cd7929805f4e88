"""The progress bar: phases, real steps, the time left, terminals and log files."""

import io
import re
import sys

import numpy as np
import pytest

from sk_equivae import Objective, _progress
from sk_equivae._progress import Progress, showing
from sk_equivae.training import train
from sk_equivae.training.forecast import Forecast


class Seen(Progress):
    """Keeps all texts, and what was left at the time."""

    made: list = []  # noqa: RUF012

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.texts, self.lefts = [], []
        Seen.made.append(self)

    def _draw(self, text, at_once=False):
        self.texts.append(text)
        self.lefts.append(self.left)
        super()._draw(text, at_once)


@pytest.fixture
def seen(monkeypatch):
    """Return a function that fits a model, and gives its progress."""
    monkeypatch.setattr(train, "Progress", Seen)
    monkeypatch.setattr(Seen, "made", [])

    def fit(model, *data):
        model.set_params(verbose=max(1, model.verbose)).fit(*data)
        return Seen.made[-1]

    return fit


@pytest.mark.parametrize("growing", [None, 32])
def test_the_bar_counts_the_steps_that_there_are(make, blobs, few, seen, growing):
    X, y = blobs
    objective = Objective(max_batch_size=growing)
    for labels in (y, few):
        model = make(max_epochs=2, objective=objective)
        texts = [t for t in seen(model, X, labels).texts if "step" in t]
        counts = [row["train_batch_count"] for row in model.history_]
        assert texts == [
            f"epoch {epoch + 1}/2, step {step + 1}/{n_steps}"
            for epoch, n_steps in enumerate(counts)
            for step in range(n_steps)
        ]


def test_phases_of_a_table(make, blobs, few, seen):
    progress = seen(make(max_epochs=1), blobs[0], few)
    phases = [text for text in progress.texts if "step" not in text]
    names = list(dict.fromkeys(phases))
    assert names == ["networks", "neighbour graph", "discriminant", "experts", "epoch 1/1",
                     "batch statistics", "prototypes", "styles", "calibration",
                     "labelling 45 rows"]  # fmt: skip
    assert phases.count("experts") > 5  # each fold is reported
    assert all(left >= 0 for left in progress.lefts)
    assert progress.expected == {}


def test_phases_of_images(make, images, seen):
    X, y = images
    progress = seen(make(max_epochs=1), X, np.where(np.arange(24) < 4, y, -1))
    assert "neighbour graph" in progress.texts
    assert "labelling 20 rows" in progress.texts


@pytest.mark.parametrize("augment", ["auto", lambda x: x], ids=["measured", "not measured"])
def test_the_time_of_every_phase_after_training_is_expected(
    make, images, seen, monkeypatch, augment
):
    expected = {}

    def begin(self, phase, label=None):
        expected[phase] = self.expected.get(phase)
        Progress.begin(self, phase, label)

    monkeypatch.setattr(Seen, "begin", begin)
    X, y = images
    seen(make(max_epochs=1, augment=augment), X, np.where(np.arange(24) < 4, y, -1))
    for phase in ("prototypes", "calibration", "labelling", "styles"):
        assert expected[phase] > 0


def test_a_bar_changes_nothing(make, images, assert_same, capsys):
    X, y = images
    y = np.where(np.arange(24) < 12, y, -1)
    assert_same(make(verbose=0).fit(X, y), make(verbose=2).fit(X, y))
    assert_same(make(verbose=0).partial_fit(X, y, classes=[0, 1]),
                make(verbose=1).partial_fit(X, y, classes=[0, 1]))  # fmt: skip


@pytest.mark.parametrize("early_stopping", [False, True])
def test_table_of_epochs(make, blobs, capsys, early_stopping):
    make(verbose=2, max_epochs=3, early_stopping=early_stopping).fit(*blobs)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    part = "valid " if early_stopping else ""
    assert re.split(r"\s{2,}", lines[0].strip()) == [
        "epoch", f"{part}bound", f"{part}accuracy", "seconds", "time left",
    ]  # fmt: skip
    assert len(lines) == 4
    for i, line in enumerate(lines[1:]):
        assert re.fullmatch(rf" *{i + 1}/3 +-?\d+\.\d\d +\d+\.\d% +\d+\.\d +\d+:\d\d", line)
        assert len(line) <= 100
    assert "\x1b" not in printed.out + printed.err


def test_a_fit_that_goes_on_counts_from_there(make, blobs, seen, tmp_path):
    model = make(max_epochs=3, checkpoint=tmp_path / "state")

    class Stop(Exception):
        pass

    from skorch.callbacks import Callback

    class StopAfter(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 2:
                raise Stop

    with pytest.raises(Stop):
        model.set_params(callbacks=[StopAfter()]).fit(*blobs)
    texts = seen(model.set_params(callbacks=None), *blobs).texts
    steps = [text for text in texts if "step" in text]
    assert steps[0].startswith("epoch 2/3") or steps[0].startswith("epoch 3/3")
    assert steps[-1].startswith("epoch 3/3")


def test_a_fit_in_a_log_file(make, blobs, few, capsys):
    make(verbose=1, max_epochs=9).fit(blobs[0], few)
    lines = capsys.readouterr().err.splitlines()
    shares = [int(re.match(r"fit +(\d+)%", line)[1]) for line in lines]
    assert shares[0] == 0
    assert len(shares) >= 4
    assert shares == sorted(shares)


# -------------------------------------------------------------------- the time left


def times(steps, sizes, cost, measured, falling=False, noise=0.1):
    """Run a forecast over steps whose costs are known; return shown and true time left."""
    forecast = Forecast(steps, sizes, measured, falling)
    rng = np.random.RandomState(0)
    n = 0
    costs = []
    for n_steps, size in zip(steps, sizes, strict=True):
        for _ in range(n_steps):
            costs.append(cost(size, n) * rng.uniform(1 - noise, 1 + noise))
            n += 1
    shown = []
    for seconds in costs:
        forecast.step(seconds)
        shown.append(forecast.rest)
    left = np.sum(costs) - np.cumsum(costs)
    tenths = np.searchsorted(np.cumsum(costs), np.arange(1, 10) / 10 * np.sum(costs))
    return np.array(shown)[tenths], left[tenths]


def test_growing_batches():
    """Steps of four times the rows take twice as long; a count of steps would not know."""
    steps, sizes = [400, 200, 100], [64, 128, 256]
    measured = {64: 0.03, 128: 0.04, 256: 0.06}
    shown, true = times(steps, sizes, lambda size, n: 0.02 + size / 6400, measured)
    np.testing.assert_allclose(shown, true, rtol=0.1)


def test_steps_that_become_cheaper():
    def cost(size, n):
        return 0.06 + 0.03 * np.exp(-n / 60)

    shown, true = times([300], [64], cost, {64: 0.06}, falling=True)
    np.testing.assert_allclose(shown, true, rtol=0.2)


def test_without_a_measurement():
    shown, true = times([200, 100], [64, 128], lambda size, n: 0.01 + size / 6400, None)
    np.testing.assert_allclose(shown, true, rtol=0.2)


def test_a_slow_first_step_does_not_count():
    forecast = Forecast([100], [64])
    forecast.step(50.0)
    for _ in range(9):
        forecast.step(1.0)
    assert forecast.rest == pytest.approx(90)


def test_phases_that_were_skipped_are_over():
    progress = Progress("fit", clock=lambda: 0.0, delay=1.0)
    progress.expected = {"graph": 5.0, "training": 8.0, "styles": 1.0}
    progress.begin("training")
    assert progress.left == 9.0
    progress.advance(0.5, rest=3.0)
    assert progress.left == 4.0


# -------------------------------------------------------------------- terminals and files


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(n_steps=100):
    clock = iter(np.arange(10_000) / 10).__next__
    progress = Progress("fit", clock=clock)
    progress.expected = {"training": n_steps / 10}
    with showing(progress):
        progress.begin("training", "epoch 1/1")
        for i in range(n_steps):
            progress.advance((i + 1) / n_steps, note=f", step {i + 1}")
            if i == n_steps // 2:
                progress.say("a line")
    return progress


def test_a_log_file_gets_a_line_per_tenth(monkeypatch, capsys):
    run()
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert 9 <= len(lines) <= 11
    assert "\r" not in printed.err
    assert re.match(r"fit +50%  epoch 1/1, step 5\d, 0:05 passed, 0:05 left", lines[5])
    assert printed.out == "a line\n"


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = run()
    drawn = terminal.getvalue().split("\r")
    shares = [int(found[1]) for text in drawn if (found := re.match(r" *(\d+)%\|", text))]
    assert shares == sorted(shares)  # never backwards
    assert shares[-1] >= 98
    assert progress.shown <= 0.99  # full only when it is over
    assert any("epoch 1/1, step 4" in text for text in drawn)


def test_only_long_loops_are_shown(monkeypatch, capsys):
    for delay, shown in ((100.0, False), (0.0, True)):
        monkeypatch.setattr(_progress, "DELAY", delay)
        with _progress.loops_shown("predict"), _progress.loop(2000) as report:
            report(1000)
            report(2000)
        assert ("predict 2,000 rows" in capsys.readouterr().err) == shown

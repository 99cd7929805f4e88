"""One progress bar over several phases, with a time left that can be believed.

A phase has an expected time, which is measured beforehand or derived from other phases. While it
runs, what was measured counts more and more. Code far below, such as the loop over batches, reports
to `current()` and need not know what the bar looks like.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

# Seconds between two drawings, and until a bar of a single method appears.
INTERVAL, DELAY = 0.1, 1.0
# Part of a phase after which its expected time does not count any more.
KNOWN = 0.2
FULL = 1000  # a bar counts parts per thousand of the expected time
CHARACTERS = 24


class Bar:
    """A bar in a terminal or a notebook; lines of text in a log file.

    Parameters
    ----------
    title : str
        What is going on, for the lines of a log file.
    """

    def __init__(self, title: str):
        from tqdm.auto import tqdm

        self.title = title
        self.file = sys.stderr
        self.tenth = -1
        self.bar: Any = None
        in_notebook = any(base.__name__ == "tqdm_notebook" for base in tqdm.__mro__)
        if in_notebook or self.file.isatty():
            bar = "{bar}" if in_notebook else f"{{bar:{CHARACTERS}}}"
            self.bar = tqdm(
                total=FULL,
                bar_format=f"{{percentage:3.0f}}%|{bar}| {{desc}}",
                dynamic_ncols=True,
                file=None if in_notebook else self.file,
                leave=False,
            )

    def draw(self, share: float, text: str) -> None:
        """Show a part of the whole, and a text."""
        if self.bar is not None:
            self.bar.n = round(FULL * share)
            self.bar.set_description_str(text, refresh=False)
            self.bar.refresh()
        elif int(10 * share) > self.tenth:  # a line per tenth
            self.tenth = int(10 * share)
            print(f"{self.title} {share:4.0%}  {text}", file=self.file, flush=True)

    def say(self, line: str) -> None:
        """Print a line to the standard output, above the bar."""
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.write(line)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()


class Progress:
    """The phases of one task, their expected times, and the bar.

    Parameters
    ----------
    title : str
        Name of the task.
    delay : float, default=0.0
        Seconds until the bar appears.
    clock : callable, default=time.perf_counter
        Returns the time in seconds.

    Attributes
    ----------
    expected : dict of str to float
        Seconds of the phases to come, in their order.

    Examples
    --------
    >>> seconds = iter([0, 0, 1, 3]).__next__
    >>> progress = Progress("fit", clock=seconds, delay=100)
    >>> progress.expected = {"graph": 2.0, "training": 8.0}
    >>> progress.begin("graph")
    >>> progress.advance(0.5)  # after 1 second
    >>> progress.left
    9.0
    >>> progress.begin("training")  # after 3 seconds
    >>> progress.left
    8.0
    """

    def __init__(
        self, title: str, delay: float = 0.0, clock: Callable[[], float] = time.perf_counter
    ):
        self.title = title
        self.delay = delay
        self.clock = clock
        self.expected: dict[str, float] = {}
        self.start = self.began = clock()
        self.elapsed = 0.0
        self.prior = self.rest = 0.0
        self.label = title
        self.shown = 0.0
        self._drawn = -INTERVAL
        self._bar: Bar | None = None

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self.rest + sum(self.expected.values())

    def begin(self, phase: str, label: str | None = None) -> None:
        """Begin a phase; those before it in `expected` are over.

        Parameters
        ----------
        phase : str
            The phase.
        label : str, optional
            Text for the user; by default the name of the phase.
        """
        if phase in self.expected:
            names = list(self.expected)
            for name in names[: names.index(phase)]:
                del self.expected[name]
        self.prior = self.rest = self.expected.pop(phase, 0.0)
        self.began = self.clock()
        self.elapsed = self.began - self.start
        self.label = phase if label is None else label
        self._draw(self.label, at_once=True)

    def advance(self, share: float, rest: float | None = None, note: str = "") -> None:
        """Report the part of the current phase that is done.

        Parameters
        ----------
        share : float
            The part, from 0 to 1.
        rest : float, optional
            Seconds until the end of the phase. By default they follow from the part that is done
            and from what was expected.
        note : str, default=""
            Text beside the label.
        """
        now = self.clock()
        self.elapsed = now - self.start
        if rest is None:
            rest = self.prior
            if share > 0:
                sure = min(1.0, share / KNOWN) if self.prior else 1.0
                whole = sure * (now - self.began) / share + (1 - sure) * self.prior
                rest = (1 - share) * whole
        self.rest = rest
        self._draw(f"{self.label}{note}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.say(line)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def _draw(self, text: str, at_once: bool = False) -> None:
        if self.elapsed < self.delay or (not at_once and self.elapsed - self._drawn < INTERVAL):
            return
        self._drawn = self.elapsed
        if self._bar is None:
            self._bar = Bar(self.title)
        times = ""
        if self.left > 0:  # else it is not known yet, or over
            # never backwards, and never full before the end
            self.shown = max(self.shown, min(self.elapsed / (self.elapsed + self.left), 0.99))
            times = f", {clock_text(self.elapsed)} passed, {clock_text(self.left)} left"
        self._bar.draw(self.shown, f"{text}{times}")


def clock_text(seconds: float) -> str:
    """Return minutes and seconds, or hours.

    Examples
    --------
    >>> clock_text(7.4), clock_text(95), clock_text(3700)
    ('0:07', '1:35', '1:01:40')
    """
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)
_label: ContextVar[str | None] = ContextVar("label", default=None)


def current() -> Progress | None:
    """Return the progress of the task that is under way, if it is shown."""
    return _current.get()


def begin(phase: str, label: str | None = None) -> None:
    """Begin a phase of the task that is under way; see `Progress.begin`."""
    progress = _current.get()
    if progress is not None:
        progress.begin(phase, label)


@contextlib.contextmanager
def showing(progress: Progress | None) -> Iterator[None]:
    """Let all code inside the context report to a progress; None for none."""
    token, before = _current.set(progress), _label.set(None)
    try:
        yield
    finally:
        _current.reset(token)
        _label.reset(before)
        if progress is not None:
            progress.close()


@contextlib.contextmanager
def loops_shown(label: str | None) -> Iterator[None]:
    """Show a bar for each long loop over rows inside the context.

    Parameters
    ----------
    label : str or None
        Text beside the bar; None for no bar.
    """
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


@contextlib.contextmanager
def loop(n_rows: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of rows that a loop has done."""
    progress, own = _current.get(), None
    if _label.get() is not None:
        label = str(_label.get())
        progress = own = Progress(label, DELAY)
        progress.label = f"{label} {n_rows:,} rows"
    try:
        yield lambda done: None if progress is None else progress.advance(done / n_rows)
    finally:
        if own is not None:
            own.close()

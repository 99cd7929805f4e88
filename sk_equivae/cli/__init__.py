"""The command line `sk-equivae`: train on a folder of images or a table, predict, sample, explore.

Reading order: `parser`, `tables`, `data`, `commands`, `demo`. Errors are one line that says
what to do.
"""

import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from .parser import PROGRAM, make_parser

# How messages of the library name a remedy, and how the command line does.
REMEDIES = {
    r"image_size=32": "--size 32",
    r"image_shape=\((\d+), (\d+)\), or pass X.reshape\([^)]*\)": r"--image-shape \1x\2",
    r"image_shape=\((\d+), (\d+), (\d+)\), or pass X.reshape\([^)]*\)": r"--image-shape \1x\2x\3",
    r"\bimage_shape\b": "--image-shape",
    r" Rows with the label -1 were taken as unlabelled: [^.]*\.": "",
    r"set unlabeled=('[^']*') \(it is -1\)": r"pass --unlabeled \1",
    r"device='auto', or 'cpu'": "--device auto, or cpu",
}
ERRORS = (ValueError, TypeError, LookupError, OSError, ImportError, RuntimeError, MemoryError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0, or 2 after an error.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; by default those of the process.

    Returns
    -------
    code : int
        The exit code.
    """
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help()
        return 0
    program = f"{PROGRAM} {arguments.command}"
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _tell(
            f"{program}: warning: {one_line(message)}"
        )
        try:
            arguments.run(arguments)
            sys.stdout.flush()
        except KeyboardInterrupt:
            _tell(f"{program}: interrupted; nothing was written.")
            return 130
        except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except ERRORS as error:
            if arguments.debug:
                raise
            _tell(f"{program}: error: {one_line(error)}")
            return 2
    return 0


def one_line(error: Any) -> str:
    """Return the message of an error as one line, with remedies of the command line."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    text = " ".join(str(text).split()) or type(error).__name__
    for ours, theirs in REMEDIES.items():
        text = re.sub(ours, theirs, text)
    return text


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""The options of the command line, and its help."""

import argparse
from collections.abc import Callable
from typing import Any

from .._version import __version__
from . import commands, demo

PROGRAM = "sk-equivae"
DESCRIPTION = """\
Learn classes from few labels, and generate new rows, with EquiVAE.

DATA is one of
  a folder   of images, with one sub-folder per class; images in a sub-folder
             `unlabeled` (or `unlabelled`), and in the folder itself, have no label
  a table    FILE.csv or FILE.tsv, with a header; the labels are in the column
             --target, empty where a row has no label
  an array   FILE.npz with the rows as X and the labels as y (-1: no label)
"""
EXAMPLES = """\
examples:
  sk-equivae fit digits/ --out digits.equivae
  sk-equivae fit penguins.csv --target species --out penguins.equivae
  sk-equivae predict digits.equivae new_images/ --out predicted.csv
  sk-equivae sample digits.equivae --out samples.png
  sk-equivae explore digits.equivae --open
"""


def size(text: str) -> tuple[int, ...]:
    """Return the numbers of "32", "28x28" or "32x32x3"; one number is for height and width.

    Examples
    --------
    >>> size("32"), size("28x20"), size("32x32x3")
    ((32, 32), (28, 20), (32, 32, 3))
    """
    parts = text.lower().split("x")
    if not all(part.isdigit() and int(part) > 0 for part in parts) or len(parts) > 3:
        raise argparse.ArgumentTypeError(f"expected a size such as 32 or 28x28, got {text!r}")
    numbers = tuple(int(part) for part in parts)
    return numbers * 2 if len(numbers) == 1 else numbers


def at_least(least: int) -> Callable[[str], int]:
    """Return a function from a text to a whole number that is not less than `least`."""

    def number(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected {least} or more, got {text!r}")
        return int(text)

    return number


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(run=None)
    commands_ = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        command = commands_.add_parser(
            name,
            help=text[0].lower() + text[1:].split(".")[0],
            description=text,
            epilog=f"`{PROGRAM} --help` tells what DATA can be." if "DATA" in text else None,
        )
        command.add_argument("--debug", action="store_true", help="show where an error comes from")
        command.set_defaults(run=run)
        return command

    _add_fit(add("fit", commands.fit, "Train a model on DATA and save it."))
    _add_predict(add("predict", commands.predict, "Write the class of each row of DATA."))
    _add_transform(
        add("transform", commands.transform, "Write the representation of each row of DATA.")
    )
    _add_sample(add("sample", commands.sample, "Generate rows: a picture, or a table."))
    _add_explore(
        add("explore", commands.explore, "Write a page to play with a model in a browser.")
    )
    _add_model(add("info", commands.info, "Print what a saved model is."))
    demo.add_options(
        add(
            "demo",
            demo.run,
            "Learn handwritten digits from a few labels, and draw what was learnt.",
        )
    )
    return parser


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a file written by `fit`")


def _add_data(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a folder, a .csv, .tsv, .npz or .npy file")


def _add_table(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", metavar="NAME", help="column of the labels")
    command.add_argument(
        "--drop",
        metavar="NAME",
        action="append",
        default=[],
        help="a column to leave out, such as a key; may be given several times",
    )
    command.add_argument(
        "--unlabeled",
        metavar="VALUE",
        help="a label that marks rows without a label, in addition to empty ones and -1",
    )


def _add_seed(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seed", type=at_least(0), default=0, help="of the random numbers (default: %(default)s)"
    )


def _add_fit(command: argparse.ArgumentParser) -> None:
    _add_data(command)
    command.add_argument(
        "--out", metavar="FILE", default="model.equivae", help="the model (default: %(default)s)"
    )
    _add_table(command)
    command.add_argument(
        "--size", type=size, metavar="HxW", help="resize images to this size, such as 32 or 28x28"
    )
    command.add_argument("--channels", type=int, choices=(1, 3), help="1: grey images, 3: colours")
    command.add_argument(
        "--image-shape",
        type=size,
        metavar="HxW",
        help="rows of a table or an array are flat images of this shape",
    )
    command.add_argument(
        "--latent-dim",
        type=at_least(1),
        default=16,
        metavar="N",
        help="numbers that describe a class, and a style (default: %(default)s)",
    )
    command.add_argument(
        "--epochs", type=at_least(1), metavar="N", help="passes over the data (default: chosen)"
    )
    command.add_argument(
        "--device", default="auto", help="cpu, cuda, mps, ... (default: the best available)"
    )
    command.add_argument(
        "--checkpoint", metavar="FILE", help="state of training; a stopped fit goes on from it"
    )
    _add_seed(command)
    command.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_predict(command: argparse.ArgumentParser) -> None:
    _add_model(command)
    _add_data(command)
    command.add_argument(
        "--out", metavar="FILE.csv", help="the classes and their probabilities (default: printed)"
    )
    _add_table(command)


def _add_transform(command: argparse.ArgumentParser) -> None:
    _add_model(command)
    _add_data(command)
    command.add_argument(
        "--out", metavar="FILE", help="FILE.csv or FILE.npy (default: printed as CSV)"
    )
    command.add_argument(
        "--representation",
        choices=("invariant", "equivariant", "both"),
        default="invariant",
        help="what the class explains, what it does not, or both (default: %(default)s)",
    )
    _add_table(command)


def _add_sample(command: argparse.ArgumentParser) -> None:
    _add_model(command)
    command.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="FILE.png for images, FILE.csv for tables, FILE.npz for both",
    )
    command.add_argument(
        "-n", type=at_least(1), default=8, metavar="N", help="rows per class (default: %(default)s)"
    )
    command.add_argument(
        "--class",
        dest="classes",
        action="append",
        metavar="NAME",
        help="a class to generate; may be given several times (default: all)",
    )
    _add_seed(command)


def _add_explore(command: argparse.ArgumentParser) -> None:
    _add_model(command)
    command.add_argument(
        "--out", metavar="FILE.html", help="the page (default: the name of the model)"
    )
    command.add_argument("--data", metavar="DATA", help="rows whose style can be taken")
    _add_table(command)
    command.add_argument("--open", action="store_true", help="open the page in the browser")

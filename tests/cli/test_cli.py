"""The command line: data of all kinds, and errors that are one line."""

import re
import runpy
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, load
from sk_equivae.cli import commands, main, one_line
from sk_equivae.cli.parser import make_parser

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture(scope="module")
def place(tmp_path_factory, images):
    """A folder of bars, a table of irises, and models of both."""
    root = tmp_path_factory.mktemp("data")
    X, y = images
    for i, (pixels, code) in enumerate(zip(X, y, strict=True)):
        folder = root / "bars" / ("unlabeled" if i >= 16 else ["stands", "lies"][code])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * pixels).astype(np.uint8)).save(folder / f"{i}.png")
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "kind"})
    frame["kind"] = frame["kind"].where(frame.index % 3 > 0)
    frame.to_csv(root / "iris.csv", index=False)
    (root / "empty.csv").write_text("")
    (root / "header.csv").write_text("width,kind\n")
    (root / "one.csv").write_text("width,kind\n1,x\n2,x\n3,\n")
    quiet = ["--epochs", "2", "--latent-dim", "2", "--quiet"]
    bars, iris = str(root / "bars.equivae"), str(root / "iris.equivae")
    assert main(["fit", str(root / "bars"), "--out", bars, *quiet]) == 0
    assert main(["fit", str(root / "iris.csv"), "--target", "kind", "--out", iris, *quiet]) == 0
    return root


@pytest.fixture
def run(place, monkeypatch, capsys):
    """Run a command in the folder; return its exit code, output and errors."""
    monkeypatch.chdir(place)

    def call(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # of argparse
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_models(place):
    bars = load(place / "bars.equivae")
    assert bars.classes_.tolist() == ["lies", "stands"]
    assert bars.class_count_.tolist() == [8, 8]
    assert bars.verbose == 0
    iris = load(place / "iris.equivae")
    assert iris.classes_.tolist() == [0, 1, 2]  # whole numbers, though pandas reads 1.0
    assert iris.class_count_.sum() == 100


def test_fit_tells_what_it_has_read(run, place):
    code, out, err = run("fit", "bars", "--epochs", 1, "--out", place / "again.equivae")
    assert (code, out) == (0, "")
    first, *_, last = err.splitlines()
    assert first == ("24 rows, images of 8x8 pixels; 8 without a label. Labels per class: "
                     "lies (8), stands (8).")  # fmt: skip
    assert last.startswith("Trained for 1 epochs in")
    assert " left" in err


def test_predict_prints(run):
    code, out, err = run("predict", "bars.equivae", "bars")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "file,class,p(lies),p(stands)"
    assert len(lines) == 25
    assert "Accuracy on the 16 rows with a label" in err
    _, out, err = run("predict", "bars.equivae", "bars/lies/1.png")
    assert out.splitlines()[1].startswith("1.png,")
    assert err == ""


def test_images_are_brought_to_the_form_of_the_model(run, place, images):
    """Of any size and in colours, also for a model of fractions."""
    X, y = images
    EquiVAEClassifier(2, max_epochs=1, random_state=0).fit(X, y).save(place / "own.equivae")
    (place / "large").mkdir()
    Image.new("RGB", (20, 30), (10, 200, 30)).save(place / "large" / "1.png")
    for model in ("bars.equivae", "own.equivae"):
        code, out, err = run("predict", model, "large")
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 2
    found = run("predict", "own.equivae", "bars")[1].splitlines()[1:]
    names = [line.split(",")[0] for line in found]
    bytes_ = (255 * X).astype(np.uint8)
    expected = load(place / "own.equivae").predict(bytes_ / 255)
    by_file = [int(name.split("/")[-1].split(".")[0]) for name in names]
    assert [line.split(",")[1] for line in found] == [str(expected[i]) for i in by_file]


def test_tables_by_name_of_columns(run, place):
    frame = pd.read_csv("iris.csv").drop(columns="kind")
    frame[frame.columns[::-1]].assign(extra=1).to_csv("turned.csv", index=False)
    one = run("predict", "iris.equivae", "iris.csv")[1]
    assert run("predict", "iris.equivae", "turned.csv")[1] == one
    frame.iloc[:, 1:].to_csv("less.csv", index=False)
    code, _, err = run("predict", "iris.equivae", "less.csv")
    assert code == 2
    assert "lacks the columns sepal length (cm), which iris.equivae was trained on" in err


def test_arrays(run, place, images):
    X, y = images
    flat = (255 * X).astype(np.uint8).reshape(24, 64)
    np.savez(place / "rows.npz", X=flat, y=np.where(np.arange(24) < 20, y, -1))
    np.savez(place / "words.npz", data=flat.reshape(24, 8, 8), label=np.where(y, "a", "?"))
    code, _, err = run("fit", "rows.npz", "--image-shape", "8x8", "--epochs", 1, "--quiet")
    assert (code, err) == (0, "")
    assert load("model.equivae").model_.rows.is_image
    np.save(place / "rows.npy", flat)
    assert len(run("predict", "model.equivae", "rows.npy")[1].splitlines()) == 25
    code, _, err = run("fit", "words.npz", "--target", "label", "--unlabeled", "?")
    assert code == 2
    assert "got 1 class: ['a']" in err
    assert (
        "has no array 'kind'; it has data, label" in run("fit", "words.npz", "--target", "kind")[2]
    )


def test_pixels_in_a_table(run, place, images):
    X, y = images
    pixels = (255 * X).astype(int).reshape(24, 64)
    pd.DataFrame(pixels).assign(label=y).to_csv("pixels.csv", index=False)
    options = ("--target", "label")
    assert run("fit", "pixels.csv", *options, "--image-shape", "8x8", "--epochs", 1)[0] == 0
    rows = load("model.equivae").model_.rows
    assert (rows.is_image, rows.dtype) == (True, np.uint8)
    assert run("predict", "model.equivae", "pixels.csv", *options)[0] == 0


def test_transform_and_sample(run, place):
    assert run("transform", "bars.equivae", "bars", "--out", "z.npy")[0] == 0
    assert np.load("z.npy").shape == (24, 2)
    code, out, _ = run("transform", "iris.equivae", "iris.csv", "--representation", "both")
    assert code == 0
    assert out.splitlines()[0].split(",") == ["row", "r0", "r1", "v0", "v1"]
    assert run("sample", "bars.equivae", "--out", "s.npz", "-n", 3, "--class", "lies")[0] == 0
    found = np.load("s.npz")
    assert (found["X"].shape, found["y"].tolist()) == ((3, 8, 8), ["lies"] * 3)
    assert run("sample", "bars.equivae", "--out", "s.png", "-n", 2)[0] == 0
    with Image.open("s.png") as picture:
        assert picture.size[0] > 100
    assert run("sample", "iris.equivae", "--out", "s.csv", "-n", 2)[0] == 0
    assert pd.read_csv("s.csv")["class"].tolist() == [0, 0, 1, 1, 2, 2]


def test_explore_and_info(run, place, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, _, err = run("explore", "bars.equivae", "--data", "bars", "--open")
    assert (code, "The page is in bars.html" in err) == (0, True)
    assert opened == [(place / "bars.html").resolve().as_uri()]
    code, out, _ = run("info", "bars.equivae")
    assert "grey images of 8x8 pixels, values from 0 to 255" in out
    assert "lies (8), stands (8)" in out
    assert "columns     sepal length (cm)," in run("info", "iris.equivae")[1]


def test_a_column_of_keys(run, place, images):
    frame = pd.DataFrame({"key": list("abcdef"), "twice": list("xxyyzz"), "size": range(6)})
    assert commands._keys(frame) == ["key"]
    assert commands._keys(images[0]) == []


ERRORS = {
    "nothing there": ("fit nowhere", "nowhere is not there. Expected a folder of images"),
    "no target": ("fit iris.csv", "--target is missing.*columns are: sepal length"),
    "wrong target": ("fit iris.csv --target x", "no column 'x'. Its columns are"),
    "target of images": ("fit bars --target x", "labels of images are the names of their fold"),
    "no classes": ("fit bars/lies", "one sub-folder of images per class"),
    "no folder": ("fit bars --out none/m.equivae", "folder none is not there. Make it first"),
    "out is a folder": ("fit bars --out bars", "bars is a folder"),
    "another kind": ("fit bars.equivae", "a folder of images, a .csv"),
    "no model": ("predict none.equivae bars", "none.equivae is not there"),
    "not a model": ("predict iris.csv bars", "iris.csv is no archive"),
    "images for a table": ("predict iris.equivae bars", "trained on rows of 4 columns"),
    "table for images": ("predict bars.equivae iris.csv", "64 columns of pixels.*has 5 columns"),
    "picture of a table": ("sample iris.equivae --out s.png", "end in .csv or .npz for tables"),
    "unknown class": ("sample bars.equivae --class x --out s.png", "classes are lies, stands"),
    "kind of output": ("transform bars.equivae bars --out z.txt", "end in .csv or .npy"),
    "device": ("fit bars --device cuda:9", "--device auto, or cpu|cuda"),
    "size": ("fit bars --size x", "expected a size such as 32 or 28x28, got 'x'"),
    "epochs": ("fit bars --epochs 0", "expected 1 or more, got '0'"),
    "empty": ("fit empty.csv --target x", "empty.csv could not be read as a table.*column names"),
    "no rows": ("fit header.csv --target kind", "header.csv has no rows.*a line per row"),
    "no rows to predict": ("predict iris.equivae header.csv", "header.csv has no rows"),
    "checkpoint in no folder": (
        "fit bars --epochs 1 --checkpoint none/c",
        "folder none is not there. Make it first",
    ),
    "checkpoint is a folder": ("fit bars --epochs 1 --checkpoint bars", "bars is a folder"),
    "one class": ("fit one.csv --target kind", "at least 2 classes; got 1 class: .'x'..$"),
    "too small": ("fit bars --size 4", "at least 8x8 pixels"),
}


@pytest.mark.parametrize("line, message", ERRORS.values(), ids=ERRORS)
def test_errors_are_one_line(run, line, message):
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert re.search(message, last), last
    assert last.startswith(f"sk-equivae {line.split()[0]}: error: ")


def test_different_sizes(run, place):
    for i, size in enumerate((8, 9)):
        (place / "sizes" / str(i)).mkdir(parents=True)
        Image.new("L", (size, size)).save(place / "sizes" / str(i) / "1.png")
    assert "for example --size 32." in run("fit", "sizes")[2]


def test_a_transformer_does_not_predict(run, place, images):
    EquiVAETransformer(2, max_epochs=1, random_state=0).fit(*images).save(place / "t.equivae")
    code, _, err = run("predict", "t.equivae", "bars")
    assert (code, "which does not predict classes. Use `transform`" in err) == (2, True)


def test_debug_shows_the_traceback(run):
    with pytest.raises(FileNotFoundError):
        run("fit", "nowhere", "--debug")


def test_warnings_are_one_line(run, place, recwarn):
    (place / "few" / "a").mkdir(parents=True)
    (place / "few" / "b").mkdir()
    for name in ("a/1", "a/2", "b/1"):
        Image.new("L", (8, 8), 100 * name.startswith("a")).save(place / "few" / f"{name}.png")
    code, _, err = run("fit", "few", "--epochs", 1, "--quiet", "--out", place / "few.equivae")
    assert code == 0
    assert err.startswith("sk-equivae fit: warning: Classes ['b'] have a single labelled row")
    assert len(err.splitlines()) == 1


def test_without_a_command(run):
    code, out, _ = run()
    assert code == 0
    assert "one sub-folder per class" in out
    assert "`unlabeled` (or `unlabelled`)" in out


def test_every_option_has_a_help():
    commands = make_parser()._subparsers._group_actions[0].choices
    assert list(commands) == ["fit", "predict", "transform", "sample", "explore", "info", "demo"]
    for command in commands.values():
        assert all(action.help for action in command._actions)


def test_one_line():
    assert one_line(KeyError("no such thing")) == "no such thing"
    assert one_line(MemoryError()) == "MemoryError"
    flat = "Set image_shape=(8, 8), or pass X.reshape(-1, 8, 8)."
    assert one_line(UserWarning(flat)) == "Set --image-shape 8x8."
    assert one_line(ValueError("two\n  lines, image_size=32")) == "two lines, --size 32"


def test_python_m(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sk_equivae", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("sk_equivae", run_name="__main__")
    assert (stop.value.code, capsys.readouterr().out.split()[0]) == (0, "sk-equivae")


def test_interrupted(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(EquiVAEClassifier, "fit", stop)
    code, _, err = run("fit", "bars")
    assert (code, "interrupted; nothing was written" in err) == (130, True)

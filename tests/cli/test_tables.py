"""Tables on the command line: no class is lost, none merged, and later tables are read alike."""

import re

import numpy as np
import pandas as pd
import pytest

from sk_equivae import load
from sk_equivae.cli import main
from sk_equivae.cli.data import read_data
from sk_equivae.cli.parser import make_parser
from sk_equivae.cli.tables import read_table, table_labels


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return its output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out, printed.err

    return call


def write(path, labels, n=8, **columns):
    """Write n rows per label, whose column `x` tells the label."""
    x = np.repeat(np.arange(len(labels)), n) * 10 + np.arange(n * len(labels)) % 3
    cells = {"x": x, **columns, "k": np.repeat(labels, n)}
    lines = [",".join(cells), *(",".join(map(str, row)) for row in zip(*cells.values()))]  # noqa: B905
    path.write_text("\n".join(lines) + "\n")


def fit(run, *options):
    return run("fit", "t.csv", "--target", "k", "--epochs", 1, "--latent-dim", 2, *options)[1]


def labels_of(cells, marker=None, as_texts=False):
    return table_labels(pd.Series(cells, dtype=str), marker, as_texts).tolist()


@pytest.mark.parametrize("label", ["None", "NA", "null", "nan", "N/A", "NULL"])
def test_only_an_empty_cell_has_no_label(run, tmp_path, label, recwarn):
    write(tmp_path / "t.csv", [label, "yes", "no", ""])
    err = fit(run)
    assert "32 rows, 1 columns; 8 without a label." in err
    assert f"{label} (8)" in err
    assert len(re.findall(f"pass --unlabeled '{label}'", err)) == 1
    assert load("model.equivae").classes_.tolist() == sorted([label, "yes", "no"])
    out = run("predict", "model.equivae", "t.csv")[0]
    assert f"p({label})" in out.splitlines()[0]


def test_a_mark_of_the_user_has_no_label(run, tmp_path):
    write(tmp_path / "t.csv", ["NA", "yes", "no", ""])
    err = fit(run, "--unlabeled", "NA")
    assert "16 without a label. Labels per class: no (8), yes (8)." in err
    assert "pass --unlabeled" not in err


@pytest.mark.parametrize("labels", [["1", "01", "2"], ["00", "01", "02"], ["01", "2", "-1", ""]])
def test_leading_zeros_stay(run, tmp_path, labels):
    write(tmp_path / "t.csv", labels)
    fit(run)
    known = sorted({*labels} - {"-1", ""})
    assert load("model.equivae").classes_.tolist() == known
    out, err = run("predict", "model.equivae", "t.csv", "--target", "k")
    assert out.splitlines()[0] == "row,class," + ",".join(f"p({name})" for name in known)
    assert {line.split(",")[1] for line in out.splitlines()[1:]} <= {*known}
    assert f"Accuracy on the {8 * len(known)} rows" in err


def test_labels_of_later_tables_are_those_of_the_model(run, tmp_path):
    """Texts, though the labels of this table alone would be numbers."""
    write(tmp_path / "t.csv", ["1.0", "x"])
    fit(run)
    write(tmp_path / "new.csv", ["1.0"])
    model = load("model.equivae")
    options = make_parser().parse_args(
        ["predict", "model.equivae", str(tmp_path / "new.csv"), "--target", "k"]
    )
    data = read_data(options.data, options, model.model_.rows, model.classes_)
    assert data.y.tolist() == ["1.0"] * 8
    right = float(np.mean(model.predict(data.X) == "1.0"))
    assert f"{right:.1%}" in run("predict", "model.equivae", "new.csv", "--target", "k")[1]


def test_numbers_stay_numbers():
    assert labels_of(["0", "1", "-1", None]) == [0, 1, "-1", None]
    assert labels_of(["0.0", "1.0", None]) == [0, 1, None]  # as pandas writes them beside gaps
    assert labels_of(["0", "2", "?"], marker="?") == [0, 2, "?"]
    assert labels_of(["0.5", "1e3"]) == [0.5, 1000.0]
    assert labels_of(["True", "False"]) == [True, False]
    assert labels_of(["0", "1", "NA"]) == ["0", "1", "NA"]
    assert labels_of(["1", "2"], as_texts=True) == ["1", "2"]
    large = ["9007199254740992", "9007199254740993"]  # equal as floats
    assert labels_of([*large, None]) == [int(large[0]), int(large[1]), None]
    assert labels_of([large[0] * 2, large[1] * 2]) == [large[0] * 2, large[1] * 2]


@pytest.mark.parametrize(
    "labels, known, n_missing",
    [
        (["0", "1", "-1", ""], [0, 1], 16),
        (["0.0", "1.0", "-1.0", ""], [0, 1], 16),
        (["a", "b", "-1"], ["a", "b"], 8),
        (["True", "False", ""], [False, True], 8),
    ],
)
def test_rows_without_a_label(run, tmp_path, labels, known, n_missing):
    write(tmp_path / "t.csv", labels)
    assert f"{n_missing} without a label" in fit(run)
    found = load("model.equivae").classes_.tolist()
    assert found == known
    assert [type(label) for label in found] == [type(label) for label in known]


def test_columns_of_numbers_and_of_texts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "number,gaps,text,truth,none,k\n"
        "1,1.5,NA,True,,NA\n"
        "2,NA,None,NA,NA,01\n"
        "3,null,,False,null,1\n"
        "4,NaN,x,True,,\n"
    )
    frame = read_table(path, ",", {"k", "not there"})
    assert [frame[name].dtype.kind for name in ("number", "gaps", "none")] == ["i", "f", "f"]
    assert frame["gaps"].isna().tolist() == [False, True, True, True]
    assert frame["truth"].dropna().tolist() == [True, False, True]
    assert frame["none"].isna().all()
    assert frame["text"].tolist()[:2] == ["NA", "None"]
    assert frame["text"].isna().tolist() == [False, False, True, False]
    assert frame["k"].tolist()[:3] == ["NA", "01", "1"]
    assert frame["k"].isna().tolist() == [False, False, False, True]


def test_names_of_columns_and_rows(tmp_path):
    """Columns without a name or with the same, and rows with a name beside the header."""
    (tmp_path / "t.csv").write_text(",a,a\nNA,x,NA\ny,1,2\n")
    frame = read_table(tmp_path / "t.csv", ",", ())
    assert frame.columns.tolist() == ["Unnamed: 0", "a", "a.1"]
    assert frame["Unnamed: 0"].tolist() == ["NA", "y"]
    assert frame["a"].tolist() == ["x", "1"]
    assert frame["a.1"].dtype.kind == "f"
    (tmp_path / "t.csv").write_text("a,b\n7,NA,1\n7,x,2\n")
    frame = read_table(tmp_path / "t.csv", ",", ())
    assert (frame["a"].tolist(), frame["b"].tolist()) == (["NA", "x"], [1, 2])


def test_later_tables_have_the_kinds_of_columns_of_the_model(run, tmp_path):
    """A text column that holds numbers or marks of gaps alone is one of texts all the same."""
    place = np.repeat(["NA", "2", "east"], 8)
    size = np.where(np.arange(24) % 5, np.arange(24), "NA")
    write(tmp_path / "t.csv", ["a", "b", "c"], place=place, size=size)
    fit(run)
    columns = {column.name: column for column in load("model.equivae").model_.rows.columns.columns}
    assert columns["place"].categories == ("2", "NA", "east")
    assert columns["size"].categories is None
    whole = run("transform", "model.equivae", "t.csv")[0].splitlines()
    for i, name in enumerate(["NA", "2"]):
        rows = slice(8 * i, 8 * i + 8)
        write(tmp_path / "part.csv", [name], place=place[rows], size=size[rows])
        frame = pd.read_csv("t.csv", dtype=str, keep_default_na=False).iloc[rows]
        frame.drop(columns="k").to_csv("part.csv", index=False)
        part = run("transform", "model.equivae", "part.csv")[0].splitlines()
        assert [line.split(",")[1:] for line in part[1:]] == [
            line.split(",")[1:] for line in whole[1 + 8 * i : 9 + 8 * i]
        ]

"""What docs/command_line.md shows is run, with few epochs."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sk_equivae.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"


def test_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for kind, block in re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if kind == "python":
            exec(compile(block, str(PAGE), "exec"), namespace)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "sk-equivae"
            few = ["--epochs", "2"] if arguments[0] == "fit" else []
            assert main([*arguments, *few]) == 0, capsys.readouterr().err
    assert namespace["images"].data.shape == (1500, 8, 8)
    assert len(namespace["labels"]) == 1500
    predicted = pd.read_csv("predicted.csv")
    assert predicted.columns.tolist() == ["file", "class", *(f"p({k})" for k in range(10))]
    assert len(predicted) == 297
    assert np.load("representation.npy").shape == (297, 16)
    assert pd.read_csv("latents.csv").shape == (150, 33)
    assert pd.read_csv("setosa.csv")["class"].tolist() == ["setosa"] * 5
    for name in ("samples.png", "digits.html", "flat.equivae"):
        assert Path(name).stat().st_size > 1000
    assert "Accuracy on the 150 rows with a label" in capsys.readouterr().err

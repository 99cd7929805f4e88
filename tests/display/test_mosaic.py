"""What the displays share: mosaics, and matplotlib, imported late."""

import builtins
import subprocess
import sys

import numpy as np
import pytest

from sk_equivae import LatentSpaceDisplay, SamplesDisplay, TrainingHistoryDisplay
from sk_equivae.display.mosaic import drawn_channels, mosaic


def test_wide_gaps():
    tiles = np.arange(6.0).reshape(2, 3, 1, 1) * np.ones((4, 4))
    image, x, y = mosaic(tiles, wide_columns=(1,), wide_rows=(1,), gap=1)
    assert image.shape == (2 * 4 + 1 + 3, 3 * 4 + 2 + 3)
    assert x.tolist() == [1.5, 9.5, 14.5]
    assert y.tolist() == [1.5, 9.5]
    assert np.isnan(image[4:8]).all()
    assert np.isnan(image[:, 4:8]).all()
    assert (image[8:, 8:12] == 4).all()


def test_only_colours_have_channels():
    assert [drawn_channels(n) for n in (1, 2, 3, 4, 5)] == [1, 1, 3, 4, 1]


def test_matplotlib_is_imported_late():
    code = "import sys, sk_equivae; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib(monkeypatch):
    plain_import = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    for display in (
        SamplesDisplay(np.zeros((1, 2, 8, 8)), classes=[0, 1]),
        TrainingHistoryDisplay([{"train_elbo": -1.0}]),
        LatentSpaceDisplay(np.eye(2), np.eye(2), codes=np.arange(2), classes=np.arange(2)),
    ):
        with pytest.raises(ImportError, match=r"plot requires matplotlib"):
            display.plot()

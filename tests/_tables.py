"""A table with all kinds of columns, as a frame of pandas or polars."""

import numpy as np
import pandas as pd
import polars as pl

NAMES = ["number", "count", "kind", "colour", "flag"]
FAST = {"latent_dim": 2, "max_epochs": 2, "batch_size": 32, "random_state": 0}


def make_table(library="pandas", n=80, gaps=0.15):
    """Two classes that differ in every column but the colour; gaps in all but the count."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "number": rng.randn(n) + 2 * y,
            "count": rng.poisson(2 + 4 * y),
            "kind": pd.Categorical(np.where(rng.rand(n) < 0.8, np.array(["u", "w"])[y], "z")),
            "colour": np.array(["red", "green", "blue"])[rng.randint(3, size=n)],
            "flag": pd.array(rng.rand(n) < 0.1 + 0.8 * y, dtype="boolean"),
        }
    )
    for name in ("number", "kind", "colour", "flag"):
        frame.loc[rng.rand(n) < gaps, name] = pd.NA if name == "flag" else None
    return (frame if library == "pandas" else pl.from_pandas(frame)), y


def dtypes(frame):
    """Names and dtypes of the columns."""
    if isinstance(frame, pd.DataFrame):
        return frame.dtypes.to_dict()
    return dict(frame.schema)


def part(frame, rows):
    """Some rows of a frame."""
    return frame.iloc[rows] if isinstance(frame, pd.DataFrame) else frame[rows]


def n_missing(frame):
    """Number of missing values."""
    if isinstance(frame, pd.DataFrame):
        return int(frame.isna().to_numpy().sum())
    return sum(frame.null_count().row(0))

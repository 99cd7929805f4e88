"""Measure what training and prediction cost, for docs/scaling.md.

`python examples/scaling.py` measures on generated images, one thread per process, and writes
docs/scaling.json and the tables of docs/scaling.md. It takes a few minutes.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SEED = 0
BASE = {"n_rows": 2048, "n_classes": 10, "side": 28, "batch_size": 256, "n_labels": 0}
VARIED = {"n_rows": [1024], "side": [14], "n_classes": [100], "batch_size": [64]}
DISK_ROWS = [50_000, 100_000]


def images(n_rows, n_classes, side, n_labels):
    """Return noisy copies of one image per class, as bytes, and their labels; 0: all labels."""
    import numpy as np

    rng = np.random.RandomState(SEED)
    y = np.arange(n_rows) % n_classes
    base = 200 * (rng.uniform(size=(n_classes, side, side)) > 0.7)
    X = (base[y] + rng.randint(0, 55, size=(n_rows, side, side))).astype(np.uint8)
    return X, np.where(np.arange(n_rows) < n_labels, y, -1) if n_labels else y


def peak():
    """Return the largest size of this process so far, in MB."""
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def fit(**setting):
    """Train for one epoch; return seconds per row and per step."""
    from sk_equivae import EquiVAEClassifier

    X, y = images(*(setting[name] for name in ("n_rows", "n_classes", "side", "n_labels")))
    model = EquiVAEClassifier(
        max_epochs=1, batch_size=setting["batch_size"], likelihood="bernoulli", random_state=SEED
    ).fit(X, y)
    epoch = model.history_[0]
    return {"row_ms": 1e3 * epoch["dur"] / len(X), "step_ms": 1e3 * epoch["dur"]
            / epoch["train_batch_count"], "peak_mb": peak()}  # fmt: skip


def disk(n_rows, folder):
    """Return rows per second of `transform` from disk and from memory, and peaks in MB."""
    import numpy as np

    from sk_equivae import EquiVAEClassifier

    path, few = Path(folder) / "rows", 4096
    X, y = images(few, 10, 28, 0)
    X = X.reshape(few, -1)
    rows = np.memmap(path, np.uint8, "w+", shape=(n_rows, 784))
    for start in range(0, n_rows, few):
        rows[start : start + few] = X[: n_rows - start]
    rows.flush()
    del rows
    rows = np.memmap(path, np.uint8, "r", shape=(n_rows, 784))
    model = EquiVAEClassifier(max_epochs=1, random_state=SEED).fit(X, y)

    def rate(some):
        start = time.perf_counter()
        model.transform(some)
        return len(some) / (time.perf_counter() - start)

    whole = rate(rows)
    found = {"transform_mb": peak()}
    pairs = [(rate(rows[:20_000]), rate(np.array(rows[:20_000]))) for _ in range(3)]
    ratios = sorted(a / b for a, b in pairs)
    found |= {"rows_per_s": whole, "disk_to_memory": ratios[1]}
    return found


def run(task, n_processes=1, **setting):
    """Measure in processes of their own."""
    launch = [sys.executable]
    if n_processes > 1:
        launch += ["-m", "torch.distributed.run", "--standalone"]
        launch += ["--nproc-per-node", str(n_processes)]
    command = [*launch, __file__, task, json.dumps(setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[0])


def measure():
    """Run all measurements."""
    import sklearn
    import torch

    import sk_equivae

    start = time.time()
    fits = [{"varied": "n_rows", "value": BASE["n_rows"], **run("fit", **BASE)}]
    for name, values in VARIED.items():
        for value in values:
            setting = {**BASE, name: value}
            fits.append({"varied": name, "value": value, **run("fit", **setting)})
    shared = []
    for batch_size in (64, 256):
        setting = {**BASE, "batch_size": batch_size}
        # one after the other, since the machine may be busy at times
        pairs = [(run("fit", **setting), run("fit", 2, **setting)) for _ in range(1)]
        speedup = max(one["row_ms"] / two["row_ms"] for one, two in pairs)
        shared.append({"batch_size": batch_size, "speedup": speedup})
    with tempfile.TemporaryDirectory() as folder:
        disks = [{"n_rows": n, **run("disk", n_rows=n, folder=folder)} for n in DISK_ROWS]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=DOCS
    )
    versions = {
        "sk_equivae": sk_equivae.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    return {
        "seed": SEED, "base": BASE, "versions": versions, "commit": commit.stdout.strip(),
        "n_cores": os.cpu_count(), "load_average": os.getloadavg()[0],
        "wall_s": time.time() - start, "fit": fits, "processes": shared, "disk": disks,
    }  # fmt: skip


NAMES = {"n_rows": "rows", "side": "pixels per side", "n_classes": "classes",
         "batch_size": "rows per batch", "n_labels": "labels (0: all)"}  # fmt: skip


def tables(found):
    """Return the tables of the page, by name."""
    fits = [
        "| varied | value | ms per row | ms per step | rows in an hour |",
        "|---|---|---|---|---|",
    ]
    for row in found["fit"]:
        hour = 3.6e6 / row["row_ms"]
        fits.append(f"| {NAMES[row['varied']]} | {row['value']} | {row['row_ms']:.2f} | "
                    f"{row['step_ms']:.0f} | {hour / 1e6:.1f} million |")  # fmt: skip
    shared = ["| rows per batch | rows per second, 2 processes to 1 |", "|---|---|"]
    shared += [f"| {row['batch_size']} | {row['speedup']:.2f} |" for row in found["processes"]]
    disks = ["| rows on disk | rows per second | disk to memory | peak, MB |", "|---|---|---|---|"]
    disks += [f"| {row['n_rows']:,} | {row['rows_per_s']:,.0f} | {row['disk_to_memory']:.2f} | "
              f"{row['transform_mb']:.0f} |" for row in found["disk"]]  # fmt: skip
    return {"fit": fits, "processes": shared, "disk": disks}


def write(found):
    """Put the tables into the page."""
    page = DOCS / "scaling.md"
    text = page.read_text()
    for name, lines in tables(found).items():
        before, rest = text.split(f"<!-- {name} -->\n")
        text = f"{before}<!-- {name} -->\n" + "\n".join(lines) + "\n<!-- end -->" + rest.split(
            "<!-- end -->", 1)[1]  # fmt: skip
    page.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps({"fit": fit, "disk": disk}[sys.argv[1]](**json.loads(sys.argv[2]))))
    else:
        results = measure()
        (DOCS / "scaling.json").write_text(json.dumps(results, indent=1) + "\n")
        write(results)

"""Measure what training and prediction cost, for docs/scaling.md.

    python examples/scaling.py [PART ...]

The parts are fit, processes, disk, memory and agreement; all of them by default. Rows are generated
images, and every process has a single thread. The results go to docs/scaling.json, those of other
parts stay there, and the tables go into docs/scaling.md. Nothing else should run meanwhile.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SEED = 0
BASE = {"n_rows": 2048, "n_classes": 10, "side": 28, "batch_size": 256, "n_labels": 0}
VARIED = {
    "n_rows": [1024], "side": [14], "n_classes": [100], "batch_size": [64], "n_labels": [100],
}  # fmt: skip
SHARED = [{"batch_size": 64}, {"batch_size": 128}, {"batch_size": 256}, {"n_labels": 100}]
N_ROUNDS = 1
DISK_ROWS = [200_000, 2_000_000]
SOME_ROWS = 100_000  # compared with the same rows in memory
MEMORY_ROWS = [500_000, 2_000_000]
MEMORY_FEATURES = 16  # what `fit` keeps per row does not depend on them, but what a step takes does
SEEDS = range(3)
PLANNED = [10**n for n in range(5, 10)]
MOST_BYTES = 40  # per row, in `fit`


def images(n_rows, n_classes, side, n_labels):
    """Return noisy copies of one image per class, as bytes, and their labels; 0: all labels."""
    import numpy as np

    rng = np.random.RandomState(SEED)
    y = np.arange(n_rows) % n_classes
    base = 200 * (rng.uniform(size=(n_classes, side, side)) > 0.7)
    X = (base[y] + rng.randint(0, 55, size=(n_rows, side, side))).astype(np.uint8)
    return X, np.where(np.arange(n_rows) < n_labels, y, -1) if n_labels else y


def size(name):
    """Return a size of this process in MB: VmHWM for the largest so far, RssAnon without files."""
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith(name)]
    return int(line.split()[1]) / 1024


def on_disk(n_rows, folder, n_features=784):
    """Return rows of bytes as a memory map, the first ones as an array, and their labels."""
    import numpy as np

    path, few = Path(folder) / "rows", 4096
    X, y = images(few, 10, 28, 0)
    X = np.ascontiguousarray(X.reshape(few, -1)[:, :n_features])
    with path.open("wb") as file:  # through a memory map the rows would count as memory
        for start in range(0, n_rows, few):
            file.write(X[: n_rows - start].data)
    return np.memmap(path, np.uint8, "r", shape=(n_rows, n_features)), X, y


# -------------------------------------------------------------------- one process measures


def fit(**setting):
    """Train for one epoch, and predict; return milliseconds per row and per step.

    Time of the processor counts, since other programs may run. `wall_ms` is the time that passed.
    """
    from skorch.callbacks import Callback

    from sk_equivae import EquiVAEClassifier

    class Clock(Callback):
        def on_epoch_begin(self, net, **kwargs):
            Clock.ms = -1e3 * time.process_time()

        def on_epoch_end(self, net, **kwargs):
            Clock.ms += 1e3 * time.process_time()

    X, y = images(*(setting[name] for name in ("n_rows", "n_classes", "side", "n_labels")))
    model = EquiVAEClassifier(
        max_epochs=1, batch_size=setting["batch_size"], likelihood="bernoulli",
        callbacks=[Clock()], random_state=SEED,
    ).fit(X, y)  # fmt: skip
    epoch = model.history_[0]
    start = time.process_time()
    model.predict(X)
    predicted = 1e3 * (time.process_time() - start)
    return {"row_ms": Clock.ms / len(X), "step_ms": Clock.ms / epoch["train_batch_count"],
            "wall_ms": 1e3 * epoch["dur"] / len(X), "predict_ms": predicted / len(X)}  # fmt: skip


def disk(n_rows, folder):
    """Return rows per second of `transform` from disk and from memory, and the peak in MB."""
    import numpy as np

    from sk_equivae import EquiVAEClassifier

    rows, X, y = on_disk(n_rows, folder)
    model = EquiVAEClassifier(max_epochs=1, random_state=SEED).fit(X, y)

    def rate(some):
        start = time.perf_counter()
        model.transform(some)
        return len(some) / (time.perf_counter() - start)

    found = {"rows_per_s": rate(rows), "peak_mb": size("VmHWM")}
    pairs = [(rate(rows[:SOME_ROWS]), rate(np.array(rows[:SOME_ROWS]))) for _ in range(3)]
    return {**found, "disk_to_memory": sorted(a / b for a, b in pairs)[1]}


def memory(n_rows, n_labels, folder):
    """Return the peak of `fit` in MB, without the pages of the file that are in memory."""
    import numpy as np

    from sk_equivae import EquiVAEClassifier, Graph, Networks, Objective

    rows, *_ = on_disk(n_rows, folder, MEMORY_FEATURES)
    y = (np.arange(n_rows) % 4096 % 10).astype(np.int8)
    if n_labels:
        y[n_labels:] = -1
    ended, peak = threading.Event(), [0.0]

    def watch():
        while not ended.wait(0.01):
            peak[0] = max(peak[0], size("RssAnon"))

    watching = threading.Thread(target=watch)
    watching.start()
    # small networks, and a graph of few rows: their memory does not depend on the rows
    objective = Objective(graph=Graph(max_rows=2000), max_batch_size=None)
    EquiVAEClassifier(
        max_epochs=1, batch_size=1024, random_state=SEED, objective=objective,
        networks=Networks(dense=32, hidden=(32, 32)),
    ).fit(rows, y)  # fmt: skip
    ended.set()
    watching.join()
    return {"peak_mb": peak[0]}


def agree(seed):
    """Return the error of a model for digits with few labels, on rows that it has not seen."""
    from sk_equivae import EquiVAEClassifier
    from sk_equivae.datasets import load_few_digits

    X, y, X_test, y_test = load_few_digits(n_per_class=10, random_state=seed)
    model = EquiVAEClassifier(max_epochs=10, random_state=seed).fit(X, y)
    return {"error": 1 - model.score(X_test, y_test)}


def run(task, n_processes=1, **setting):
    """Measure in processes of their own."""
    launch = [sys.executable]
    if n_processes > 1:
        launch += ["-m", "torch.distributed.run", "--standalone"]
        launch += ["--nproc-per-node", str(n_processes)]
    command = [*launch, __file__, task, json.dumps(setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    print(n_processes, task, setting, done.stdout.strip(), flush=True)
    return json.loads(done.stdout.strip().splitlines()[0])


# -------------------------------------------------------------------- the parts


def measure_fit():
    """Return the cost of a row, with one setting varied at a time."""
    settings = [{"n_rows": BASE["n_rows"]}]
    settings += [{name: value} for name, values in VARIED.items() for value in values]
    return [{"varied": varied, **run("fit", **{**BASE, **varied})} for varied in settings]


def measure_processes():
    """Return how many times as many rows per second two processes train."""
    found = []
    for varied in SHARED:
        setting = {**BASE, **varied}
        # in turns, since the machine may be busy at times
        pairs = [(run("fit", **setting), run("fit", 2, **setting)) for _ in range(N_ROUNDS)]
        ratios = {name: sum(one[name] for one, _ in pairs) / sum(two[name] for _, two in pairs)
                  for name in ("wall_ms", "row_ms")}  # fmt: skip
        found.append({"batch_size": setting["batch_size"], "n_labels": setting["n_labels"],
                      "speedup": ratios["wall_ms"], "by_processor": ratios["row_ms"]})  # fmt: skip
    return found


def measure_disk():
    """Return the speed and the memory of `transform` from disk."""
    with tempfile.TemporaryDirectory() as folder:
        return [{"n_rows": n, **run("disk", n_rows=n, folder=folder)} for n in DISK_ROWS]


def measure_memory():
    """Return by how many bytes per row the memory of `fit` grows."""
    found = []
    for n_labels in (0, 100):
        with tempfile.TemporaryDirectory() as folder:
            peaks = [run("memory", n_rows=n, n_labels=n_labels, folder=folder)["peak_mb"]
                     for n in MEMORY_ROWS]  # fmt: skip
        per_row = (peaks[1] - peaks[0]) * 2**20 / (MEMORY_ROWS[1] - MEMORY_ROWS[0])
        found.append({"n_labels": n_labels, "peaks_mb": peaks, "bytes_per_row": per_row})
    return found


def measure_agreement():
    """Return the errors of models that one process and two have trained."""
    return [{"seed": seed, "one": run("agree", seed=seed)["error"],
             "two": run("agree", 2, seed=seed)["error"]} for seed in SEEDS]  # fmt: skip


PARTS = {"fit": measure_fit, "processes": measure_processes, "disk": measure_disk,
         "memory": measure_memory, "agreement": measure_agreement}  # fmt: skip


def measure(part, commit):
    """Return the results of a part, and where they come from."""
    import sklearn
    import torch

    import sk_equivae

    start, load = time.time(), os.getloadavg()[0]
    results = PARTS[part]()
    versions = {
        "sk_equivae": sk_equivae.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    return {"seed": SEED, "versions": versions, "commit": commit, "n_cores": os.cpu_count(),
            "load_before": round(load, 2), "wall_s": round(time.time() - start),
            "results": results}  # fmt: skip


# -------------------------------------------------------------------- the page

NAMES = {"n_rows": "rows", "side": "pixels per side", "n_classes": "classes",
         "batch_size": "rows per batch", "n_labels": "labels"}  # fmt: skip


def duration(hours):
    """Return hours as a reader wants them."""
    if hours < 1:
        return f"{60 * hours:.0f} min" if 60 * hours >= 1 else f"{3600 * hours:.0f} s"
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:,.0f} days"


def plan(row):
    """Return what one process with one thread takes, derived from the cost of a row."""
    from sk_equivae.training.settings.plan import auto_epochs

    n_rows = row["n_rows"]
    epochs = auto_epochs(n_rows, is_image=True, any_unlabeled=False)
    train, predict = (n_rows * row[name] / 3.6e6 for name in ("row_ms", "predict_ms"))
    gigabytes = [n_rows * n_bytes / 1e9 for n_bytes in (BASE["side"] ** 2, MOST_BYTES)]
    sizes = [f"{size:.1g}" if size < 1 else f"{size:,.0f}" for size in gigabytes]
    return [f"{n_rows:,}", *sizes, epochs, duration(epochs * train), duration(predict)]


def cost(row):
    """Return what a row costs with one setting varied."""
    ((name, value),) = row["varied"].items()
    return [NAMES[name], f"{value:,}", f"{row['row_ms']:.2f}", f"{row['step_ms']:.0f}",
            f"{3.6 / row['row_ms']:.1f} million", f"{row['predict_ms']:.2f}"]  # fmt: skip


# the head of each table, and the cells of a result
TABLES = {
    "fit": (
        ["varied", "value", "training, ms per row", "ms per step", "rows in an hour",
         "`predict`, ms per row"],
        cost,
    ),
    "plan": (
        ["rows", "on disk, GB", "memory of `fit`, GB", "epochs", "training, one thread",
         "prediction, one thread"],
        plan,
    ),
    "processes": (
        ["rows per batch", "labels", "rows per second, 2 processes to 1",
         "rows per second of each processor's time"],
        lambda row: [row["batch_size"], row["n_labels"] or "all", f"{row['speedup']:.2f}",
                     f"{row['by_processor']:.2f}"],
    ),
    "disk": (
        ["rows on disk", "rows per second", "disk to memory", "peak, MB"],
        lambda row: [f"{row['n_rows']:,}", f"{row['rows_per_s']:,.0f}",
                     f"{row['disk_to_memory']:.2f}", f"{row['peak_mb']:,.0f}"],
    ),
    "memory": (
        ["labels", *(f"peak with {n:,} rows, MB" for n in MEMORY_ROWS), "bytes per row"],
        lambda row: [row["n_labels"] or "all", *(f"{mb:.0f}" for mb in row["peaks_mb"]),
                     f"{row['bytes_per_row']:.0f}"],
    ),
    "agreement": (
        ["seed", "error, one process", "error, two processes"],
        lambda row: [row["seed"], f"{100 * row['one']:.1f}%", f"{100 * row['two']:.1f}%"],
    ),
}  # fmt: skip


def tables(found):
    """Return the tables of the page, by name."""
    results = {part: found[part]["results"] for part in found}
    if "fit" in results:
        results["plan"] = [{**results["fit"][0], "n_rows": n_rows} for n_rows in PLANNED]
    made = {}
    for name, rows in results.items():
        head, cells = TABLES[name]
        lines = [head, ["---"] * len(head), *(cells(row) for row in rows)]
        made[name] = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    return made


def write(found):
    """Put the tables into the page."""
    page = DOCS / "scaling.md"
    text = page.read_text()
    for name, lines in tables(found).items():
        before, rest = text.split(f"<!-- {name} -->\n")
        text = f"{before}<!-- {name} -->\n" + "\n".join(lines) + "\n<!-- end -->" + rest.split(
            "<!-- end -->", 1)[1]  # fmt: skip
    page.write_text(text)


def main(parts):
    """Measure parts, and write the results after each."""
    git = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    path = DOCS / "scaling.json"
    for part in parts or PARTS:
        found = {**json.loads(path.read_text()), part: measure(part, commit)}
        path.write_text(json.dumps(found, indent=1) + "\n")
        write(found)


TASKS = {"fit": fit, "disk": disk, "memory": memory, "agree": agree}

if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2].startswith("{"):
        print(json.dumps(TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1:])

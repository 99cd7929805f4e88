"""The studies: what is compared with what, and what is measured. One entry each."""

from benchmarks import datasets, methods  # noqa: F401 (they register themselves)
from benchmarks.data.draws import imbalanced, mislabeled, with_foreign, without_foreign
from benchmarks.measures.errors import measure_calibration, measure_errors
from benchmarks.measures.generation import measure_generation
from benchmarks.measures.speed import PAIRS, measure_speed
from benchmarks.methods import papers_way
from benchmarks.registry import DATASETS, Setting, Study, add_study, usual_labels

WITH_PAPERS_WAY = {
    "default": Setting(),
    "paper": Setting(
        "paper's settings", papers_way, methods=("equivae", "equivae-neural", "network")
    ),
}
IMAGES = ("mnist", "fashion", "digits")
TABLES = ("iris", "wine", "cancer", "digits-rows")
UCI_TABLES = (
    "breast", "glass", "ionosphere", "satellite", "soybean", "vehicle", "vowel", "zoo",
)  # fmt: skip
PEERS = ("network", "fixmatch", "spreading", "selftraining", "svc", "logistic", "trees")

add_study(
    Study(
        "paper",
        "The paper's two tables",
        measure_errors,
        {"mnist": (100, 600, 1000, 3000, "all"), "svhn": (1000, 3000, "all")},
        (
            "equivae", "equivae-neural", "network", "m2", "m1m2", "siddharth", "aae",
            "spreading-pca", "selftraining-pca", "boosting", "neighbors-pca",
        ),
        WITH_PAPERS_WAY,
    )
)  # fmt: skip

add_study(
    Study(
        "few_labels",
        "Few labels",
        measure_errors,
        {name: usual_labels(DATASETS[name]) for name in (*IMAGES, *TABLES, *UCI_TABLES)},
        ("equivae", *PEERS),
        {
            "default": Setting(),
            "paper": Setting("paper's settings", papers_way, methods=("equivae",)),
        },
    )
)

add_study(
    Study(
        "more_data",
        "Time series and texts",
        measure_errors,
        {name: usual_labels(DATASETS[name]) for name in ("series", "texts")},
        ("equivae", *PEERS),
    )
)

# Parts of the defaults, and what they are when switched off.
OFF = {
    "teacher_decay": {"objective__teacher_decay": 0.0},
    "augment": {"augment": None},
    "consistency_weight": {"objective__consistency_weight": 0.0},
    "complement_pool": {"objective__complement_pool": "labeled"},
    "alignment": {"objective__alignment": None},
    "graph": {"objective__graph": None},
    "discriminant": {"objective__discriminant": None},
    "prototype_weight": {"objective__prototype_weight": 0.0},
    "batch_norm": {"networks__batch_norm": False},
    "kl_warmup": {"objective__kl_warmup": 0.0},
    "lr_decay": {"objective__lr_decay": None},
    "labeled_share": {"objective__labeled_share": 0.5},
}

add_study(
    Study(
        "ablation",
        "What each part of the defaults gives",
        measure_errors,
        {"digits": (50,), "digits-rows": (50,), "mnist": (100,)},
        ("equivae",),
        {
            "default": Setting("defaults"),
            **{
                name: Setting(", ".join(f"`{k}={v!r}`" for k, v in changed.items()), changed)
                for name, changed in OFF.items()
            },
        },
    )
)

add_study(
    Study(
        "robustness",
        "Labels as real users have them",
        measure_errors,
        {"digits": (100, 30, 20, 10)},
        ("equivae", "network", "spreading", "selftraining", "svc"),
        {
            "default": Setting(""),
            "wrong-labels": Setting("5% of the labels wrong", draw=mislabeled, labels=(100,)),
            "imbalance": Setting(
                "classes 1 : 10, labels (1 to 10) and rows", draw=imbalanced, labels=(100,)
            ),
            "no-foreign-rows": Setting(
                "classes 0 to 7 only, 10 labels each", draw=without_foreign, labels=(100,)
            ),
            "foreign-rows": Setting(
                "the same, with unlabelled rows of 8 and 9", draw=with_foreign, labels=(100,)
            ),
        },
    )
)

add_study(
    Study(
        "generation",
        "What r and v hold, samples and style",
        measure_generation,
        {"mnist": ("all", 100), "digits": ("all",)},
        ("equivae",),
        {"default": Setting(), "paper": Setting("paper's settings", papers_way)},
        n_seeds=3,
    )
)

add_study(
    Study(
        "calibration",
        "How good the probabilities are",
        measure_calibration,
        {"mnist": (100,), "digits": (50, 100), "digits-rows": (50,), "cancer": (10,)},
        ("equivae", "network", "fixmatch", "spreading", "selftraining", "logistic", "trees"),
    )
)

add_study(
    Study(
        "speed",
        "Speed",
        measure_speed,
        {"mnist": ("all",)},
        ("equivae",),
        {name: Setting(name) for name in PAIRS},
        n_seeds=1,
    )
)

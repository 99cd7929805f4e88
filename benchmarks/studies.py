"""The studies: what is compared with what, and what is measured. One entry each."""

from benchmarks import datasets, methods  # noqa: F401 (they register themselves)
from benchmarks.data.draws import imbalanced, mislabeled, with_foreign, without_foreign
from benchmarks.measures.errors import measure_errors
from benchmarks.measures.generation import measure_generation
from benchmarks.measures.speed import PAIRS, measure_speed
from benchmarks.methods import papers_way
from benchmarks.registry import DATASETS, Setting, study

IMAGES = ("mnist", "fashion", "svhn", "digits")
TABLES = ("iris", "wine", "cancer", "digits-rows")
UCI_TABLES = (
    "breast", "glass", "ionosphere", "satellite", "soybean", "vehicle", "vowel", "zoo",
)  # fmt: skip
PEERS = (
    "network", "fixmatch", "spreading", "selftraining", "selftraining-trees", "svc", "logistic",
    "trees",
)  # fmt: skip
PAPER_PEERS = (
    "equivae-neural", "network", "m2", "m1m2", "siddharth", "aae",
    "spreading-pca", "selftraining-pca", "boosting", "neighbors-pca",
)  # fmt: skip
HAVE_PAPERS_WAY = ("equivae", "equivae-neural", "network")
PAPERS_WAY = Setting("paper's settings", papers_way, methods=HAVE_PAPERS_WAY)
EQUIVAES_PAPERS_WAY = Setting("paper's settings", papers_way, methods=("equivae",))
# Parts of the defaults, and what they are when switched off.
OFF = {
    "objective__teacher_decay": 0.0,
    "augment": None,
    "objective__consistency_weight": 0.0,
    "objective__complement_pool": "labeled",
    "objective__alignment": None,
    "objective__graph": None,
    "objective__discriminant": None,
    "objective__experts": None,
    "objective__prototype_weight": 0.0,
    "networks__batch_norm": False,
    "objective__kl_warmup": 0.0,
    "objective__lr_decay": None,
    "objective__labeled_share": 0.5,
}

FEW = {name: DATASETS[name].usual_labels for name in (*IMAGES, *TABLES, *UCI_TABLES)}
FEW |= {name: (*FEW[name], "all") for name in ("mnist", "svhn")}
study(
    "few_labels", "Few labels", measure_errors, FEW, ("equivae", *PEERS),
    {"default": Setting(), "paper": EQUIVAES_PAPERS_WAY},
)  # fmt: skip
study(
    "paper", "The paper's two tables", measure_errors,
    {"mnist": (100, 600, 1000, 3000, "all"), "svhn": (1000, 3000, "all")},
    ("equivae", *PAPER_PEERS), {"default": Setting(), "paper": PAPERS_WAY},
    elsewhere="few_labels",
)  # fmt: skip
study(
    "more_data", "Time series and text embeddings", measure_errors,
    {name: DATASETS[name].usual_labels for name in ("series", "newsgroups")}, ("equivae", *PEERS),
)  # fmt: skip
study(
    "ablation", "What each part of the defaults gives", measure_errors,
    {"digits": (50,), "digits-rows": (50,), "mnist": (100,)}, ("equivae",),
    {"default": Setting("defaults")}
    | {key.split("__")[-1]: Setting(f"`{key}={off!r}`", {key: off}) for key, off in OFF.items()},
)  # fmt: skip
study(
    "robustness", "Labels as real users have them", measure_errors,
    {"digits": (100, 30, 20, 10)}, ("equivae", "network", "spreading", "selftraining", "svc"),
    {
        "default": Setting(),
        "wrong-labels": Setting("5% of them wrong", draw=mislabeled, labels=(100,)),
        "imbalance": Setting("classes 1 : 10, rows and labels", draw=imbalanced, labels=(100,)),
        "no-foreign-rows": Setting("classes 0 to 7 only", draw=without_foreign, labels=(100,)),
        "foreign-rows": Setting(
            "classes 0 to 7, unlabelled rows of 8 and 9", draw=with_foreign, labels=(100,)
        ),
    },
)  # fmt: skip
study(
    "generation", "What r and v hold, samples and style", measure_generation,
    {"mnist": ("all", 100), "digits": ("all",)}, ("equivae",),
    {"default": Setting(), "paper": PAPERS_WAY}, n_seeds=3,
)  # fmt: skip
study(
    "speed", "Speed", measure_speed, {"mnist": ("all",)}, ("equivae",),
    {name: Setting(name) for name in PAIRS}, n_seeds=1,
)  # fmt: skip

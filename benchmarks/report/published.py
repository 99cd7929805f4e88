"""Test errors in per cent, as published.

From the tables of Feige 2019, which has those of the other systems from their papers, but for the
line marked otherwise. The paper does not say by which rule its semi-supervised EquiVAE predicts.
Taken to be q(y|x), since it compares with a classifier of that architecture.
"""

from benchmarks.registry import Labels

Key = tuple[str, str, str]  # data set, method, rule

PUBLISHED: dict[Key, dict[Labels, str]] = {
    ("mnist", "network", "predict"): {
        100: "21.91 ± 0.66", 600: "6.64 ± 0.35", 1000: "5.43 ± 0.31", 3000: "2.96 ± 0.11",
        "all": "0.84 ± 0.03",
    },
    ("mnist", "equivae-neural", "predict"): {"all": "0.82 ± 0.03"},
    ("mnist", "equivae", "prototype"): {"all": "0.82 ± 0.05"},
    ("mnist", "equivae", "posterior"): {
        100: "8.90 ± 0.70", 600: "3.99 ± 0.17", 1000: "3.34 ± 0.17", 3000: "2.23 ± 0.14",
    },
    ("mnist", "siddharth", "predict"): {
        100: "9.71 ± 0.91", 600: "3.84 ± 0.86", 1000: "2.88 ± 0.79", 3000: "1.57 ± 0.93",
    },
    ("mnist", "m2", "predict"): {
        100: "11.97 ± 1.71", 600: "4.94 ± 0.13", 1000: "3.60 ± 0.56", 3000: "3.92 ± 0.63",
    },
    # with few labels: Kingma et al. 2014, Table 1
    ("mnist", "m1m2", "predict"): {100: "3.33", 1000: "2.40", "all": "0.96"},
    ("mnist", "aae", "predict"): {"all": "0.85 ± 0.02"},
    ("svhn", "network", "predict"): {
        1000: "39.64 ± 1.47", 3000: "25.50 ± 0.91", "all": "10.04 ± 0.14",
    },
    ("svhn", "equivae-neural", "predict"): {"all": "11.97 ± 0.34"},
    ("svhn", "equivae", "prototype"): {"all": "12.30 ± 0.28"},
    ("svhn", "equivae", "posterior"): {1000: "37.95 ± 0.66", 3000: "24.95 ± 0.57"},
    ("svhn", "siddharth", "predict"): {1000: "38.91 ± 1.06", 3000: "29.07 ± 0.83"},
    ("svhn", "m1m2", "predict"): {1000: "36.02 ± 0.10"},
}  # fmt: skip

"""Cross-validation, scoring and search for data with unlabelled rows.

Works with any estimator that takes a marker such as -1 for unlabelled rows. Reading order:
`splitter`, `folds`, `labels`, `scorers`, `delegating`, `rows`, `cluster`.
"""

from .cluster import dask_backend
from .folds import (
    RepeatedSemiSupervisedKFold,
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedSplit,
)
from .labels import hide_labels, semi_supervised_train_test_split
from .rows import LabeledOnly, SubsampleUnlabeled, WithUnlabeled
from .scorers import held_out_bound, labeled_scorer

__all__ = [
    "LabeledOnly",
    "RepeatedSemiSupervisedKFold",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedSplit",
    "SubsampleUnlabeled",
    "WithUnlabeled",
    "dask_backend",
    "held_out_bound",
    "hide_labels",
    "labeled_scorer",
    "semi_supervised_train_test_split",
]

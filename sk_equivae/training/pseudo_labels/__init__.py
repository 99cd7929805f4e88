"""Class probabilities of unlabelled rows during training, from several sources.

Each source is a `Source`. It may look at all rows before training (`prepare`), and in each
step it may revise the class probabilities of the rows of a batch (`revise`). The order is:

1. `Teacher`: q(y | x) of the averaged networks;
2. `Alignment`: corrects q(y | x) for the class frequencies of the labelled rows;
3. `Graph`: multiplies q(y | x) by the result of label spreading on a graph of neighbours;
4. `Discriminant`: has an opinion on tabular rows;
5. `Experts`: weighs all opinions on tabular rows by held-out labels, and replaces q(y | x) by
   their product.

To add a source, write a subclass of `Source` in its own file, and add it to
`Objective.sources`. To add an opinion on tabular rows, append an `Opinion` to
`Problem.opinions` in `prepare`, or give a classifier to `Experts`. `unknown` is no source: it
finds rows of classes without any label.
"""

from .alignment import Alignment
from .beliefs import confident_targets, truncate
from .discriminant import Discriminant
from .experts import Experts, Report, unlabeled_share
from .graph import Graph
from .source import Opinion, Problem, Source, Teacher, UnlabeledRows
from .unknown import Unknown, find_unknown

__all__ = [
    "Alignment",
    "Discriminant",
    "Experts",
    "Graph",
    "Opinion",
    "Problem",
    "Report",
    "Source",
    "Teacher",
    "Unknown",
    "UnlabeledRows",
    "confident_targets",
    "find_unknown",
    "truncate",
    "unlabeled_share",
]

"""What is believed of the classes of unlabelled rows: a list of sources.

Each source is a `Source`: it may look at all rows before training (`prepare`), and revise
the belief about the rows of a batch in each step (`revise`). They are asked in this order:

1. `Teacher`: q(y | x) by the averaged networks;
2. `Alignment`: classes as frequent as among the labelled rows;
3. `Graph`: labels spread over a graph of nearest neighbours;
4. `Discriminant`: a linear discriminant mixed into the graph's evidence.

To add a source, write a class in a file of its own, and add it to `Objective.sources`.
"""

from .alignment import Alignment
from .beliefs import confident_targets, truncate
from .discriminant import Discriminant
from .graph import Graph
from .source import Problem, Source, Teacher, UnlabeledRows

__all__ = [
    "Alignment",
    "Discriminant",
    "Graph",
    "Problem",
    "Source",
    "Teacher",
    "UnlabeledRows",
    "confident_targets",
    "truncate",
]

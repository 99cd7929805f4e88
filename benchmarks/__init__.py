"""Measurements of sk_equivae beside its peers, and the tables made from them.

::

    python -m benchmarks list                     what can be measured
    python -m benchmarks run few_labels --datasets digits --seeds 0 1 --data DIR
    python -m benchmarks stale                    results of code that has changed since
    python -m benchmarks run few_labels --stale   measure those again
    python -m benchmarks stale --drop             or remove them
    python -m benchmarks report                   RESULTS.md, SEEDS.md, README's tables, plots

A run is one data set, number of labels, method, setting and seed of a study. It becomes one line of
`results/STUDY.jsonl` as soon as it has ended. A run that has a line is skipped, so a command that
was killed goes on when it is given again. Results of a tree with uncommitted changes are refused;
`--smoke` tries a run on a slice of the data and keeps nothing. CONTRIBUTING.md tells how to add a
data set, a method or a study.

It imports public names of sk_equivae and `sk_equivae.model` only. What is stale: `fingerprint.py`.
"""

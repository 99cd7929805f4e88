"""Training, with PyTorch and skorch.

Reading order: `composition`, `batches`, `pictures`, `augment`, `pseudo_labels`, `settings`,
`objective`, `averaging`, `callbacks`, `device`, `state`, `checkpoint`, `net`, `summary`, `train`.
"""

"""Training, with PyTorch and skorch.

Reading order: `batches`, `augment`, `pseudo_labels`, `settings`, `objective`, `averaging`,
`callbacks`, `device`, `net`, `train`.
"""

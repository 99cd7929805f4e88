"""Fitted models in files: archives.

Reading order: `values`, `model`.
"""

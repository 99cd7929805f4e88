"""Fitted models in files: archives, and graphs for ONNX.

Reading order: `values`, `model`, `float64`, `onnx`.
"""

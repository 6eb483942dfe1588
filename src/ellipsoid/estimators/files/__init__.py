"""Learners as files: model files without code, and ONNX graphs."""

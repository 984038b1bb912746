"""Fitted models in the forms of others: scikit-learn, ONNX, skops, and the text files of LIBSVM and LIBLINEAR.

See docs/models.md for what each form keeps. hinge's own files, which keep all, are written by `hinge.save`.
"""

from hinge.export.libsvm import read_liblinear, read_libsvm, write_liblinear, write_libsvm
from hinge.export.onnx import to_onnx, to_sklearn, to_skops

__all__ = ["read_liblinear", "read_libsvm", "to_onnx", "to_sklearn", "to_skops", "write_liblinear", "write_libsvm"]

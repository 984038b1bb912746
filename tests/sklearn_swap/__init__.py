"""scikit-learn's own tests under ``hinge.patch_sklearn()``: ``python -m tests.sklearn_swap [module ...]``.

`plugin` patches, `runs` starts their tests and compares how they ended with `expected.toml`, which lists the tests that
end otherwise with our classes and why. The ordinary suite runs a sample.
"""

"""`OneClassSVM(kernel="linear")` beside scikit-learn's and beside `SGDOneClassSVM`.

    python benchmarks/one_class.py [--rows 10000 50000 200000] [--libsvm 20000]

CPU seconds, in turns, the least of three; LIBSVM, whose time grows with the square of the rows, once and only up to
`--libsvm` rows. Of each answer the objective's distance from the certified bound, relative to it, at the best scale and
level for its direction (SGD has another unit), and the share of rows outside, which should be ν.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM as Libsvm

from hinge import OneClassSVM
from hinge.datasets import make_text

PIECE = 1000


def rows_of(kind: str, n: int) -> Any:
    """Dense rows about a mean, pixels that are positive, or text."""
    rng = np.random.default_rng(0)
    if kind == "dense":
        return rng.standard_normal((n, 50)) + rng.uniform(0.0, 1.0, 50)
    if kind == "positive":
        return rng.gamma(0.5, 1.0, (n, 100)) * rng.uniform(0.0, 1.0, 100)
    return sp.csr_matrix(make_text(n, seed=0).X_train)


def subopt(w: np.ndarray, X: Any, nu: float, best: float) -> float:
    """(P - P*)/|P*| of the best multiple of w with its best level: P = a²/2 ‖w‖² + a(loss - νnρ) is least at one a."""
    r = X @ w
    rho = np.quantile(r, nu, method="inverted_cdf")
    gain = nu * len(r) * rho - np.maximum(rho - r, 0).sum()
    return float((best - 0.5 * max(gain, 0.0) ** 2 / (w @ w)) / best)


def streamed(model: Any, X: Any) -> Any:
    """The model after all rows, in pieces."""
    for lo in range(0, X.shape[0], PIECE):
        model.partial_fit(X[lo : lo + PIECE])
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument("--libsvm", type=int, default=20_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'data':<10}{'rows':>8}{'nu':>6}  {'method':<20}{'CPU s':>9}{'(P-P*)/P*':>11}{'outside':>9}")
    for kind in ("dense", "positive", "text"):
        for n in asked.rows:
            X = rows_of(kind, n)
            for nu in (0.01, 0.1, 0.5):
                methods: dict[str, Callable[[], Any]] = {
                    "hinge fit": lambda X=X, nu=nu: OneClassSVM(kernel="linear", nu=nu).fit(X),
                    "hinge partial_fit": lambda X=X, nu=nu: streamed(OneClassSVM(kernel="linear", nu=nu), X),
                    "sklearn SGD fit": lambda X=X, nu=nu: SGDOneClassSVM(nu=nu, random_state=0).fit(X),
                }
                if n <= asked.libsvm:
                    methods["sklearn LIBSVM"] = lambda X=X, nu=nu: Libsvm(kernel="linear", nu=nu).fit(X)
                seconds: dict[str, float] = {}
                models: dict[str, Any] = {}
                for turn in range(3):
                    for name, method in methods.items():
                        if turn and name == "sklearn LIBSVM":
                            continue
                        began = time.process_time()
                        models[name] = method()
                        seconds[name] = min(seconds.get(name, np.inf), time.process_time() - began)
                fitted = models["hinge fit"]
                best = 0.5 * float(np.sum(np.square(np.asarray(dense(fitted.coef_)))))
                for name, model in models.items():
                    w = np.asarray(dense(model.coef_)).ravel()
                    print(
                        f"{kind:<10}{n:>8}{nu:>6}  {name:<20}{seconds[name]:>9.3f}{subopt(w, X, nu, best):>11.1e}"
                        f"{np.mean(model.predict(X) < 0):>9.4f}"
                        + (f"   gap {model.gap_:.0e}, {type(model.solver_).__name__}" if name == "hinge fit" else ""),
                        flush=True,
                    )


def dense(a: Any) -> Any:
    return a.toarray() if sp.issparse(a) else a


if __name__ == "__main__":
    main()

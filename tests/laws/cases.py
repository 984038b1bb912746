"""What the laws are tested on: a `Case` is a solver with settings and the problems to give it, by family."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from hinge import solvers as S
from hinge.access import BaseGram, Gram, as_points
from hinge.kernels import Function, Gaussian, Linear, Polynomial
from hinge.monitoring import Stop
from hinge.problems import (
    Expansion,
    KernelNuClassification,
    KernelNuRegression,
    KernelRegularized,
    KernelSlackConstrained,
    L1Regularized,
    Multiclass,
    MulticlassSlackConstrained,
    NormConstrained,
    OneClass,
    Regularized,
    SlackConstrained,
    Structured,
)
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import MatrixGame
from hinge.problems.max_min.max_margin import KernelMaxMargin, MaxMargin
from hinge.problems.max_min.symmetric import Semidefinite, pack
from hinge.problems.svm.losses import SQUARED_HINGE, Loss, epsilon_insensitive, squared_epsilon_insensitive
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import registry
from laws import optima
from laws.data import known_ball, known_game, known_margin, tiny_rows, weights

TUBE, SQUARED_TUBE = epsilon_insensitive(0.25), squared_epsilon_insensitive(0.25)
LAM = 0.0137  # of which no small multiple is a short binary fraction: no ties


@dataclass(frozen=True, eq=False)
class Case:
    """A solver with settings, and the kind of problem to give it.

    Attributes
    ----------
    solver : Solver
    T : int
        Iterations of a run that has seen all of the method.
    seed_moves : {"answer", "state", "nothing"}
        What another seed changes.
    tol : float
        To which answers agree where data is stored in another way.
    same_reads : bool
        Whether rounding has no say in what is read.
    """

    solver: Any
    T: int = 150
    seed_moves: Literal["answer", "state", "nothing"] = "answer"
    tol: float = 1e-9
    same_reads: bool = True

    n: ClassVar[int] = 60
    answer: ClassVar[tuple[str, ...]] = ("w", "b", "alpha")
    """Of a solution, what is compared."""

    def data(self, n=None):
        """Rows and labels."""
        return tiny_rows(n or self.n)

    def problem(self, X, y, **options):
        """A new problem, on a bill of its own."""
        raise NotImplementedError

    def certified(self, seed):
        """A problem of known optimum, and a function that checks a certificate of an answer against it."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class LinearCase(Case):
    """Methods that take rows in memory."""

    bias: str = "none"
    weighted: bool = False
    ball: bool = False

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        options = {"bias": self.bias, "weight": weight if self.weighted else None}
        if self.ball:
            return NormConstrained(X, y, 1.5, **options)
        if self.bias == "penalized":
            options["bias_scale"] = 0.7
        return Regularized(X, y, lam, **options)

    def certified(self, seed):
        plain = self.bias == "none" and not self.weighted
        if plain:
            problem, best = optima.known(seed, self.ball)
        else:
            problem, best = optima.noisy(seed, self.bias, self.weighted)

        def check(certificate, answer):
            exact = problem.objective(answer._replace(b=certificate.b))
            assert certificate.objective == pytest.approx(exact, rel=1e-9)
            optima.assert_covers(certificate, best, 1.0 if self.ball else best)

        return problem, check


@dataclass(frozen=True, eq=False)
class LossCase(LinearCase):
    """Methods that take any loss, with one that is not the hinge."""

    loss: Loss = SQUARED_HINGE

    def data(self, n=None):
        X, y = super().data(n)
        return (X, np.round(16 * (X[:, 0] - 2 * X[:, 2])) / 16 + y) if self.loss.two_sided else (X, y)

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        weight = weight if self.weighted else None
        return Regularized(X, y, lam, bias=self.bias, weight=weight, bias_scale=0.7, loss=self.loss)

    def certified(self, seed):
        problem, best = optima.of_loss(seed, self.bias, self.weighted, self.loss)

        def check(certificate, answer):
            exact = problem.objective(answer._replace(b=certificate.b))
            assert certificate.objective == pytest.approx(exact, rel=1e-9)
            optima.assert_covers(certificate, best, best, slack=1e-8)

        return problem, check


@dataclass(frozen=True, eq=False)
class LevelCase(LinearCase):
    """Methods that take a free level: the one-class problem over rows, which lie to one side of zero."""

    nu: float = 0.2

    def data(self, n=None):
        X, y = super().data(n)
        return X + 1.0, y

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        return OneClass(X, self.nu, weight=weight if self.weighted else None, lam=lam)

    def certified(self, seed):
        """Against LIBSVM's w, for the answer that is given out: w of a feasible α."""
        from sklearn.svm import OneClassSVM

        X = np.random.default_rng(seed).standard_normal((60, 3)) + 1.0
        problem = self.problem(X, np.ones(60))
        model = OneClassSVM(kernel="linear", nu=self.nu, tol=1e-10)
        best = model.fit(X, sample_weight=np.ones(60) * problem.weight).coef_[0]

        def check(certificate, answer):
            given = problem.final_answer(answer, certificate)
            w, least = given.w * problem.scale, -0.5 * best @ best
            assert np.linalg.norm(w - best) <= certificate.gap * np.linalg.norm(w) * (1 + 1e-6) + 1e-6
            assert certificate.bound <= least * (1 - 1e-6)
            assert certificate.objective >= least * (1 + 1e-6)
            assert certificate.objective == pytest.approx(problem.objective(given), rel=1e-9)

        return problem, check


@dataclass(frozen=True, eq=False)
class MulticlassCase(Case):
    """Methods for several classes at once."""

    weighted: bool = False
    scale: float = 0.0
    k: int = 4

    def data(self, n=None):
        X, y = super().data(n)
        return X, (y > 0) + (X[:, 2] > 0.5) + (X[:, 3] > 0) * (self.k - 3) + 0  # 0 to k - 1

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        labels = np.arange(len(y)) % self.k if y.min() < 0 else y  # of data with two labels, some
        return Multiclass(
            X, labels, lam, n_classes=self.k, weight=weight if self.weighted else None, bias_scale=self.scale
        )

    def certified(self, seed):
        problem, best = optima.multiclass(seed, self.k, self.scale, self.weighted)

        def check(certificate, answer):
            assert certificate.objective == pytest.approx(problem.objective(answer), rel=1e-9)
            optima.assert_covers(certificate, best, best, slack=1e-8)

        return problem, check


@dataclass(frozen=True, eq=False)
class StructuredCase(MulticlassCase):
    """Methods for structured outputs, with classes for outputs."""

    answer = ("w", "alpha", "loss")

    def problem(self, X, y, lam=0.05, weight=None):
        rows = X.toarray() if hasattr(X, "toarray") else X
        classes, d = np.arange(self.k), rows.shape[1]
        return Structured(
            rows,
            classes[np.arange(len(y)) % self.k] if y.min() < 0 else y,
            lam,
            features=lambda x, label: np.outer(x, classes == label).ravel(),
            loss=lambda label, other: float(label != other),
            decode=lambda w, x, label: int(np.argmax(x @ w.reshape(d, self.k) + (classes != label))),
        )

    def certified(self, seed):
        given, best = optima.multiclass(seed, self.k, 0.0, False)
        problem = self.problem(given.matrix.whole(), np.array(given.labels, int), given.lam)

        def check(certificate, answer):
            assert certificate.objective == pytest.approx(problem.objective(answer), rel=1e-9)
            optima.assert_covers(certificate, best, best, slack=1e-8)

        return problem, check


@dataclass(frozen=True, eq=False)
class L1Case(Case):
    """Methods that pay for the 1-norm."""

    bias: str = "none"
    weighted: bool = False

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        return L1Regularized(X, y, lam, bias=self.bias, weight=weight if self.weighted else None, bias_scale=0.7)

    def certified(self, seed):
        problem, best = optima.of_1_norm(seed, self.bias, self.weighted)

        def check(certificate, answer):
            exact = problem.objective(answer._replace(b=certificate.b))
            assert certificate.objective == pytest.approx(exact, rel=1e-9)
            optima.assert_covers(certificate, best, best, slack=1e-8)

        return problem, check


@dataclass(frozen=True, eq=False)
class KernelCase(Case):
    """Methods that see points through a kernel."""

    bias: str = "none"
    weighted: bool = False
    slack: bool = False

    n = 80
    answer = ("beta", "responses", "b")

    def problem(self, X, y, lam=LAM, kernel=None, weight=None, nu=0.05, **gram):
        if not isinstance(X, BaseGram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = weights(len(y))
        options = {"bias": self.bias, "weight": weight if self.weighted else None}
        if self.slack:
            return KernelSlackConstrained(X, y, nu, **options)
        return KernelRegularized(X, y, lam, **options)

    def certified(self, seed):
        regularized, K, w, best = optima.kernelized(seed, self.bias, self.weighted)
        norm, loss = regularized.criteria_of(w)
        problem = regularized
        if self.slack:  # Lemma 2.1: the highest level for ν = loss/‖w‖ is 1/‖w‖
            problem = self.problem(regularized.gram, regularized.y, nu=loss / norm)

        def check(certificate, answer):
            np.testing.assert_allclose(answer.responses, K @ answer.beta, rtol=1e-9, atol=1e-9)
            if self.slack:
                return optima.assert_holds(certificate, 1 / norm, slack=1e-6)
            c = np.broadcast_to(problem.share(), (problem.n,))
            hinge = c @ np.maximum(0, 1 - problem.y * (K @ answer.beta + certificate.b))
            exact = problem.lam / 2 * answer.beta @ K @ answer.beta + hinge
            assert certificate.objective == pytest.approx(exact, rel=1e-9)
            optima.assert_covers(certificate, best, best)

        return problem, check


@dataclass(frozen=True, eq=False)
class DeviceCase(KernelCase):
    """Methods that compute kernel values by torch, in float64."""

    def problem(self, X, y, lam=LAM, kernel=None, weight=None, **gram):
        from hinge.access.gram.device import DeviceGram

        kernel = Gaussian(0.25) if kernel is None or isinstance(kernel, Function) else kernel  # which it does not take
        return super().problem(DeviceGram(X, kernel, "cpu", "float64"), y, lam, weight=weight)

    def certified(self, seed):
        host, check = super().certified(seed)
        X = np.random.default_rng(seed).standard_normal((40, 4)) + 0.5  # those of `optima.kernelized`
        weight = host.weight if self.weighted else None
        return self.problem(X, host.y, host.lam, (Gaussian(0.3), Polynomial(2, 0.5, 1.0))[seed % 2], weight), check


@dataclass(frozen=True, eq=False)
class KernelLossCase(KernelCase):
    """Methods that see points through a kernel, with the loss of regression."""

    loss: Loss = TUBE

    def data(self, n=None):
        X, y = super().data(n)
        return X, np.round(16 * (X[:, 0] - 2 * X[:, 2])) / 16 + y

    def problem(self, X, y, lam=LAM, kernel=None, weight=None, **gram):
        if not isinstance(X, Gram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = weights(len(y))
        weight = weight if self.weighted else None
        return KernelRegularized(X, y, lam, bias=self.bias, weight=weight, loss=self.loss)

    def certified(self, seed):
        problem, K, best = optima.kernel_tube(seed, self.bias, self.weighted, self.loss)

        def check(certificate, answer):
            np.testing.assert_allclose(answer.responses, K @ answer.beta, rtol=1e-9, atol=1e-9)
            exact = problem.objective(answer._replace(b=certificate.b, responses=K @ answer.beta))
            assert certificate.objective == pytest.approx(exact, rel=1e-9)
            optima.assert_covers(certificate, best, best)

        return problem, check


@dataclass(frozen=True, eq=False)
class CellCase(Case):
    """Methods that read rows, columns and cells."""

    bias: str = "none"
    nu: float = 0.05

    n = 150

    def data(self, n=None):
        return tiny_rows(n or self.n, 30, zeros=0.7)

    def problem(self, X, y, lam=0.05, weight=None):
        if isinstance(self.solver, S.Simba):
            return SlackConstrained(X, y, self.nu, bias=self.bias)
        return Regularized(X, y, lam, bias=self.bias)

    def certified(self, seed):
        if not isinstance(self.solver, S.Simba | S.MulticlassSimba):
            problem, best = optima.noisy(seed, self.bias, False)
            return problem, lambda certificate, answer: self._covered(certificate, best)
        problem, best = self._level(seed)
        return problem, lambda certificate, answer: optima.assert_holds(certificate, best, slack=1e-6)

    def _covered(self, certificate, best):
        if np.isfinite(certificate.gap):
            optima.assert_covers(certificate, best, best)

    @cache  # noqa: B019
    def _level(self, seed):
        problem = self.problem(*tiny_rows(60 + seed, 30, zeros=0.7))
        best = S.solve_slack(problem, stop=Stop(tol=1e-7)).certificate
        return problem, (best.objective + best.bound) / 2


@dataclass(frozen=True, eq=False)
class MulticlassCellCase(CellCase):
    """Methods for several classes that read rows and columns."""

    k: int = 4

    def data(self, n=None):
        X, y = super().data(n)
        return X, (y > 0) + (X[:, 2] > 0) + (X[:, 3] > 0) * (self.k - 3) + 0  # 0 to k - 1

    def problem(self, X, y, lam=0.05, weight=None):
        labels = np.arange(len(y)) % self.k if y.min() < 0 else y  # of data with two labels, some
        return MulticlassSlackConstrained(X, labels, self.nu, n_classes=self.k)

    @cache  # noqa: B019
    def _level(self, seed):
        """By Lemma 2.1: the ν and the margin that the optimum for some λ has."""
        X, y = self.data(60 + seed)
        given = Multiclass(X, y, 0.01, n_classes=self.k)
        W = S.solve(given, S.MulticlassSDCA(), stop=Stop(tol=1e-9, max_iter=10**6)).solution.w
        unit = np.sqrt(2) * np.linalg.norm(W)
        return MulticlassSlackConstrained(X, y, given.mean_loss(W) / unit, n_classes=self.k), 1 / unit


@dataclass(frozen=True, eq=False)
class SaddleCase(Case):
    """Methods for max-min problems."""

    kind: Literal["margin", "game", "ball", "semidefinite", "kernel margin"] = "margin"
    tol: float = 1e-6

    answer = ("x", "p")

    def data(self, n=None):
        X, _ = tiny_rows(n or self.n)
        if self.kind == "semidefinite":
            return X[:, :6], None  # packed matrices of order 3
        return (X + np.array([3.0] + [0.0] * 6) if "margin" in self.kind else X), None

    def problem(self, X, y, weight=None, **options):
        if self.kind == "kernel margin":
            return KernelMaxMargin(X, y, Linear())
        if self.kind == "semidefinite":
            return Semidefinite(X, packed=True)
        return {"margin": MaxMargin, "game": MatrixGame, "ball": EnclosingBall}[self.kind](X)

    def certified(self, seed):
        known = {"game": known_game, "ball": known_ball}.get(self.kind, known_margin)
        A, best = known(seed)
        if self.kind == "semidefinite":  # with diagonal matrices it is a game, of positive value
            game, best = known_game(seed)
            A, best = pack([np.diag(row + 1.5) for row in game], symmetrize=False), best + 1.5
        problem, best = self.problem(A, None), -best if self.kind == "ball" else best
        slack = 1e-5 if self.kind == "kernel margin" else 1e-9  # its kernel values are in float32

        def check(certificate, answer):
            optima.assert_holds(certificate, best, slack)
            width = certificate.bound - certificate.objective
            if np.isfinite(width):
                unit = problem.unit(certificate.objective, certificate.bound)
                assert certificate.gap * unit >= width * (1 - 1e-9)

        return problem, check


@dataclass(frozen=True, eq=False)
class OneClassCase(Case):
    """The one-class problem."""

    tol: float = 1e-7  # a certificate is the root of a difference, which rounding leaves at 1e-15
    nu: float = 0.2
    weighted: bool = False

    n = 80
    answer = ("beta", "responses", "b")

    def problem(self, X, y=None, kernel=None, weight=None, **gram):
        if not isinstance(X, Gram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = 0.5 + weights(X.n)
        return KernelOneClass(X, self.nu, weight=weight if self.weighted else None)

    def certified(self, seed):
        """Against LIBSVM's α: the gap bounds the distance to the best w, in units of w."""
        from sklearn.svm import OneClassSVM

        X = np.random.default_rng(seed).standard_normal((60, 3))
        K = np.exp(-0.25 * ((X[:, None] - X) ** 2).sum(2))
        problem = self.problem(X, exact=True)
        model = OneClassSVM(kernel="precomputed", nu=self.nu, tol=1e-10)
        model.fit(K, sample_weight=np.array(problem.boxes))
        alpha = np.zeros(60)
        alpha[model.support_] = model.dual_coef_.ravel()
        alpha *= problem.mass / alpha.sum()

        def check(certificate, answer):
            off = answer.beta - alpha
            norm = np.sqrt(answer.beta @ K @ answer.beta)
            if np.isfinite(certificate.gap):
                assert np.sqrt(max(0.0, off @ K @ off)) <= certificate.gap * norm * (1 + 1e-6) + 1e-6
                assert certificate.bound <= -0.5 * alpha @ K @ alpha * (1 - 1e-6)
                assert certificate.objective >= -0.5 * alpha @ K @ alpha * (1 + 1e-6)

        return problem, check


@dataclass(frozen=True, eq=False)
class NuClassCase(OneClassCase):
    """Two classes, with ν."""

    def problem(self, X, y, kernel=None, weight=None, **gram):
        if not isinstance(X, Gram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = 0.5 + weights(X.n)
        return KernelNuClassification(X, y, self.nu, weight=weight if self.weighted else None)

    def certified(self, seed):
        """Against LIBSVM's α, by the objective and the distance to the best w."""
        from sklearn.svm import NuSVC

        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 3))
        y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1, -1)
        K = np.exp(-0.25 * ((X[:, None] - X) ** 2).sum(2))
        problem = self.problem(X, y, exact=True)
        model = NuSVC(kernel="precomputed", nu=self.nu, tol=1e-10).fit(K, y, sample_weight=np.array(problem.boxes))
        beta = np.zeros(60)
        beta[model.support_] = model.dual_coef_.ravel()
        beta *= 2 * problem.mass / np.abs(beta).sum()
        return problem, self._checks(K, beta)

    def _checks(self, K, beta):
        best = -0.5 * beta @ K @ beta

        def check(certificate, answer):
            off = answer.beta - beta
            if np.isfinite(certificate.gap):
                assert off @ K @ off <= 0.5 * certificate.gap * answer.sq_norm * (1 + 1e-6) + 1e-6
                assert certificate.bound <= best * (1 - 1e-6)
                assert certificate.objective >= best * (1 + 1e-6)
                assert certificate.objective - best <= certificate.gap * -best * (1 + 1e-6) + 1e-6

        return check


@dataclass(frozen=True, eq=False)
class NuTargetCase(OneClassCase):
    """Regression, with ν."""

    def data(self, n=None):
        X, y = super().data(n)
        return X, np.round(16 * (X[:, 0] - 2 * X[:, 2])) / 16 + y

    def problem(self, X, y, kernel=None, weight=None, **gram):
        if not isinstance(X, Gram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = 0.5 + weights(X.n)
        return KernelNuRegression(X, y, self.nu, 3.0, weight=weight if self.weighted else None)

    def certified(self, seed):
        """Against LIBSVM's objective, at its tightest."""
        from sklearn.svm import NuSVR

        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 3))
        t = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.standard_normal(60)
        K = np.exp(-0.25 * ((X[:, None] - X) ** 2).sum(2))
        problem = self.problem(X, t, exact=True)
        weight = np.array(problem.boxes) / 3.0
        model = NuSVR(kernel="precomputed", nu=self.nu, C=3.0, tol=1e-10).fit(K, t, sample_weight=weight)
        beta = np.zeros(60)
        beta[model.support_] = model.dual_coef_.ravel()
        best = problem.objective(Expansion(beta, model.intercept_[0], K @ beta))
        dual = (t - t.mean()) @ beta - 0.5 * beta @ K @ beta
        assert best == pytest.approx(dual, rel=1e-5)  # LIBSVM keeps kernel values in single precision

        def check(certificate, answer):
            if np.isfinite(certificate.gap):  # all responses are there
                exact = problem.objective(answer._replace(b=certificate.b, responses=K @ answer.beta))
                assert certificate.objective == pytest.approx(exact, rel=1e-9)
                optima.assert_covers(certificate, dual, dual, slack=1e-5)

        return problem, check


LINEAR = {
    "pegasos": LinearCase(S.Pegasos()),
    "pegasos-all": LinearCase(S.Pegasos("all"), T=20, seed_moves="state"),
    "pegasos-batch-free": LinearCase(S.Pegasos(batch_size=3, output="uniform"), bias="free", weighted=True),
    "pegasos-exact-bias": LinearCase(
        S.Pegasos(batch_size=16, output="last", bias="exact", block_rows=16), bias="free", T=40
    ),
    "pegasos-random-penalized": LinearCase(
        S.Pegasos(output="random", block_rows=4, projection=False), bias="penalized"
    ),
    "sdca": LinearCase(S.SDCA("sgd")),
    "sdca-plain": LinearCase(S.SDCA(first_pass="plain", shrinking=False, block_rows=1)),
    "sdca-free": LinearCase(S.SDCA("sgd", block_rows=3), bias="free", weighted=True, T=300),
    "sdca-penalized": LinearCase(S.SDCA(block_rows=2), bias="penalized", weighted=True, T=300),
    "sdca-told": LinearCase(S.SDCA(tol=1e-9), T=300),
    "sdca-squared": LossCase(S.SDCA("sgd"), bias="penalized", T=300),
    "sdca-squared-free": LossCase(S.SDCA("plain"), bias="free", weighted=True, T=300),
    "sdca-tube": LossCase(S.SDCA("sgd"), weighted=True, T=300, loss=TUBE),
    "sdca-tube-free": LossCase(S.SDCA(), bias="free", T=300, loss=TUBE),
    "sdca-squared-tube": LossCase(S.SDCA(), bias="penalized", T=300, loss=SQUARED_TUBE),
    "sdca-level": LevelCase(S.SDCA(), T=300),
    "sdca-level-weighted": LevelCase(S.SDCA("plain", shrinking=False), weighted=True, T=300, nu=0.6),
    "cocoa": LinearCase(S.CoCoA(parts=3, cuts=2, least=1, first_pass="sgd")),
    "blocknewton": LinearCase(S.BlockNewton(), T=40, seed_moves="state"),
    "blocknewton-free": LinearCase(S.BlockNewton(), bias="free", weighted=True, T=40, seed_moves="state"),
    "blocknewton-squared": LossCase(S.BlockNewton(), bias="penalized", weighted=True, T=40, seed_moves="state"),
    "bypasses": LinearCase(S.ByPasses(), T=40, same_reads=False),
    "blockascent": LinearCase(S.BlockAscent(), same_reads=False),  # rounding decides who is shrunk
    "cocoa-plain": LinearCase(
        S.CoCoA(parts=4, cuts=3, least=1, first_pass="plain", shrinking=False, block_rows=1), weighted=True
    ),
    "cocoa-free": LinearCase(S.CoCoA(least=1, first_pass="sgd"), bias="free", weighted=True, T=300),
    "cocoa-squared": LossCase(S.CoCoA(least=1), bias="penalized", weighted=True),
    "switch": LinearCase(
        S.Switch(1e-15, newton_passes=0.0, ascent=S.SDCA("sgd")), T=420
    ),  # Newton's turn comes at once
    "switch-squared": LossCase(S.Switch(1e-15, newton_passes=0.0), bias="free", weighted=True, same_reads=False, T=420),
    "subspace": LinearCase(S.SDCA("plain", acceleration="subspace")),
    "subspace-late": LinearCase(S.SDCA(acceleration="subspace", after=2.5)),
    "subspace-plain": LinearCase(S.SDCA("sgd", shrinking=False, block_rows=1, acceleration="subspace"), weighted=True),
    "subspace-free": LinearCase(S.SDCA(block_rows=3, acceleration="subspace"), bias="free", weighted=True, T=300),
    "subspace-squared": LossCase(S.SDCA(acceleration="subspace"), bias="penalized", weighted=True, T=300),
    "subspace-tube-free": LossCase(S.SDCA("plain", acceleration="subspace"), bias="free", T=300, loss=TUBE),
    "rowspace": LinearCase(S.RowSpace(tol=1e-12), T=8, seed_moves="state", same_reads=False),
    "rowspace-free": LossCase(S.RowSpace(tol=1e-12), bias="free", weighted=True, T=8, same_reads=False),
    "stale": LinearCase(S.StaleSDCA(block_rows=1)),
    "stale-blocks": LinearCase(S.StaleSDCA(least=0.3, width=0.1, block_rows=7)),
    "stale-free": LinearCase(S.StaleSDCA(), bias="free", weighted=True, T=300),
    "stale-penalized": LinearCase(S.StaleSDCA(block_rows=2), bias="penalized", weighted=True, T=300),
    "uniform": LinearCase(S.UniformDCA()),
    "finitenewton": LossCase(S.FiniteNewton(), T=6, seed_moves="nothing", same_reads=False),
    "finitenewton-tube": LossCase(
        S.FiniteNewton(),
        bias="penalized",
        weighted=True,
        T=6,
        seed_moves="nothing",
        same_reads=False,
        loss=SQUARED_TUBE,
    ),
    "centralpath": LinearCase(S.CentralPath(), T=6, seed_moves="nothing", same_reads=False),
    "centralpath-tube": LossCase(
        S.CentralPath(), bias="penalized", weighted=True, T=6, seed_moves="nothing", same_reads=False, loss=TUBE
    ),
    "newton": LinearCase(S.Newton(), T=8, seed_moves="state"),  # the seed is an order of summation
    "newton-free": LinearCase(S.Newton(), bias="free", weighted=True, T=8, seed_moves="state"),
    "newton-penalized": LinearCase(S.Newton(width=0.3, shrink=0.2), bias="penalized", T=8, seed_moves="state"),
    "newton-parts": LinearCase(S.Newton(parts=2), T=8, seed_moves="state"),
    "newton-squared": LossCase(S.Newton(), same_reads=False, bias="penalized", weighted=True, T=8, seed_moves="state"),
    "newton-squared-free": LossCase(S.Newton(), same_reads=False, bias="free", T=8, seed_moves="state"),
    "newton-tube": LossCase(S.Newton(), same_reads=False, bias="free", T=8, seed_moves="state", loss=TUBE),
    "newton-squared-tube": LossCase(
        S.Newton(), same_reads=False, weighted=True, T=8, seed_moves="state", loss=SQUARED_TUBE
    ),
    "newton-level": LevelCase(S.Newton(), same_reads=False, T=8, seed_moves="state"),
    "newton-level-weighted": LevelCase(S.Newton(), same_reads=False, weighted=True, T=8, seed_moves="state", nu=0.6),
    "devicenewton": LinearCase(S.DeviceNewton(device="cpu"), T=8, seed_moves="nothing", same_reads=False),
    "devicenewton-free": LinearCase(
        S.DeviceNewton(device="cpu"), bias="free", weighted=True, T=8, seed_moves="nothing", same_reads=False
    ),
    "devicenewton-squared": LossCase(
        S.DeviceNewton(device="cpu"), bias="penalized", weighted=True, T=8, seed_moves="nothing", same_reads=False
    ),
    "cutting": LinearCase(S.CuttingPlane(), T=12, seed_moves="nothing"),
    "cutting-last": LinearCase(S.CuttingPlane(4, "last"), weighted=True, T=12, seed_moves="nothing"),
    "cutting-penalized": LinearCase(S.CuttingPlane(6), bias="penalized", weighted=True, T=12, seed_moves="nothing"),
    "norma": LinearCase(S.Norma()),
    "norma-average": LinearCase(S.Norma(average=True, projection=True)),
    "sgd": LinearCase(S.SGD(average=True)),
    "sgd-ball": LinearCase(S.SGD(eta=0.5), ball=True),
    "perceptron": LinearCase(S.Perceptron(passes=3)),
    "perceptron-last": LinearCase(S.Perceptron(average=False, passes=3)),
    "amplified": LinearCase(S.Amplified(delta=0.2, horizon=140)),
    "amplified-sdca": LinearCase(S.Amplified(S.SDCA(block_rows=1), delta=0.2, horizon=140), bias="free"),
}
MULTICLASS = {
    "multiclass-sdca": MulticlassCase(S.MulticlassSDCA()),
    "multiclass-sdca-plain": MulticlassCase(S.MulticlassSDCA(shrinking=False, block_rows=1), weighted=True),
    "multiclass-sdca-listed": MulticlassCase(S.MulticlassSDCA(block_rows=3), scale=0.7, weighted=True, k=12, T=300),
    "multiclass-newton": MulticlassCase(S.MulticlassNewton(), T=8, seed_moves="nothing"),
    "multiclass-newton-constant": MulticlassCase(
        S.MulticlassNewton(), scale=0.7, weighted=True, k=6, T=8, seed_moves="nothing"
    ),
    "multiclass-pegasos": MulticlassCase(S.MulticlassPegasos()),
    "multiclass-pegasos-last": MulticlassCase(S.MulticlassPegasos(False, "last"), scale=0.7, weighted=True),
    "multiclass-pegasos-random": MulticlassCase(S.MulticlassPegasos(output="random"), k=9),
}
STRUCTURED = {
    "structured-pegasos": StructuredCase(S.StructuredPegasos()),
    "structured-pegasos-last": StructuredCase(S.StructuredPegasos(batch_size=7, average=False), T=40),
}
INTERIOR = {
    "interior-point": LinearCase(S.InteriorPoint(), T=3, seed_moves="nothing", tol=1e-6),
    "interior-point-free": LinearCase(
        S.InteriorPoint(), T=3, bias="free", weighted=True, seed_moves="nothing", tol=1e-6
    ),
}
KERNEL = {
    "from-landmarks": KernelCase(S.FromLandmarks(S.BlockDual(block=4, first=2)), bias="free", T=6),
    "block-dual": KernelCase(S.BlockDual(), T=8),
    "block-dual-small": KernelCase(S.BlockDual(block=4, first=2), T=60),
    "block-dual-free": KernelCase(S.BlockDual(block=4, first=2), bias="free", T=60),
    "block-dual-free-weighted": KernelCase(S.BlockDual(block=4, first=2), bias="free", weighted=True, T=60),
    "device-block": DeviceCase(S.DeviceBlock(block=16), T=4),
    "device-block-free": DeviceCase(S.DeviceBlock(block=16), bias="free", weighted=True, T=4),
    "active-set": KernelCase(S.ActiveSet(), T=6, seed_moves="nothing"),
    "active-set-free": KernelCase(S.ActiveSet(), bias="free", T=6, seed_moves="nothing"),
    "active-set-free-weighted": KernelCase(S.ActiveSet(), bias="free", weighted=True, T=20, seed_moves="nothing"),
    "nystroem": KernelCase(S.Nystroem(), T=3),
    "nystroem-free": KernelCase(S.Nystroem(20), bias="free", weighted=True, T=2),
    "nystroem-device": DeviceCase(S.Nystroem(20), bias="free", weighted=True, T=2),
    "nystroem-tube": KernelLossCase(S.Nystroem(), bias="free", weighted=True, T=3, tol=1e-7),  # by factors of K
    "block-dual-tube": KernelLossCase(S.BlockDual(block=4, first=2), T=60),
    "block-dual-tube-free": KernelLossCase(S.BlockDual(block=4, first=2), bias="free", weighted=True, T=60),
    "active-set-tube": KernelLossCase(S.ActiveSet(), weighted=True, T=6, seed_moves="nothing"),
    "active-set-tube-free": KernelLossCase(S.ActiveSet(), bias="free", T=6, seed_moves="nothing"),
    "kernel-pegasos": KernelCase(S.KernelPegasos()),
    "kernel-pegasos-last": KernelCase(S.KernelPegasos(average=False)),
    "kernel-pegasos-batch": KernelCase(S.KernelPegasos(batch_size=5, projection=True)),
    "kernel-pegasos-budget": KernelCase(S.KernelPegasos(batch_size=2, projection=True, budget=9)),
    "kernel-sdca": KernelCase(S.KernelSDCA()),
    "kernel-sdca-weighted": KernelCase(S.KernelSDCA(block=3), weighted=True),
    "kernel-perceptron": KernelCase(S.KernelPerceptron(passes=3)),
    "kernel-perceptron-last": KernelCase(S.KernelPerceptron(average=False, passes=3), slack=True),
    "kernel-perceptron-batch": KernelCase(S.KernelPerceptron(batch=True), seed_moves="state"),
    "sbp": KernelCase(S.SBP(), slack=True, T=80),
    "sbp-free": KernelCase(S.SBP(batch_size=3, output="uniform", keep_p=True), bias="free", slack=True, T=40),
    "sbp-best-free": KernelCase(S.SBP(batch_size=4, output="best"), bias="free", slack=True, T=40),
    "smo": KernelCase(S.SMO(), T=60, seed_moves="nothing"),
    "smo-free": KernelCase(S.SMO(), bias="free", T=60, seed_moves="nothing"),
    "smo-free-weighted": KernelCase(S.SMO(), bias="free", weighted=True, T=60, seed_moves="nothing"),
    "smo-weighted": KernelCase(S.SMO(), weighted=True, T=60, seed_moves="nothing"),
}
CELLS = {
    "simba": CellCase(S.Simba("exact")),
    "simba-last": CellCase(S.Simba("exact", output="last"), bias="free"),
    "simba-fixed": CellCase(S.Simba("exact", "fixed", epsilon=1.0, constant=10.0)),
    "simba-lazy": CellCase(S.Simba("lazy")),
    "simba-lazy-7": CellCase(S.Simba("lazy", refresh_every=7, eta_scale=2.0), bias="free"),
    "simba-capped": CellCase(S.Simba("capped")),
    "simba-capped-3": CellCase(S.Simba("capped", refresh_every=3, cap=0.1, output="last", eta_scale=3.0), bias="free"),
    "frugal": CellCase(S.Frugal("scan", flips=0, levels=4), bias="penalized", T=300),
    "frugal-rows": CellCase(S.Frugal("rows", flips=0), bias="free", T=150),
    "thrifty": CellCase(S.Thrifty(), bias="penalized", T=80),
    "thrifty-free": CellCase(S.Thrifty(budget=2000.0), bias="free", T=60),
    "probe": CellCase(S.Probe(columns=5, rows=12), T=110),
    "probe-free": CellCase(S.Probe(columns=30, rows=3, patience=9), bias="free", T=180),
}
MULTICLASS_CELLS = {
    "multiclass-simba": MulticlassCellCase(S.MulticlassSimba()),
    "multiclass-simba-last": MulticlassCellCase(S.MulticlassSimba("last", radius=20.0), k=7),
}
SADDLE = {
    "primal-dual": SaddleCase(S.PrimalDual()),
    "primal-dual-game": SaddleCase(S.PrimalDual(rate=1.0), kind="game"),
    "primal-dual-ball": SaddleCase(S.PrimalDual(), kind="ball"),
    "primal-dual-kernel": SaddleCase(S.PrimalDual("fixed", epsilon=1.0), kind="kernel margin", T=60),
    "sublinear-perceptron": SaddleCase(S.SublinearPerceptron()),
    "sublinear-sdp": SaddleCase(S.SublinearSDP(epsilon=1.0), kind="semidefinite", T=60),
    "working-set": SaddleCase(S.WorkingSet(first=8), T=30, seed_moves="state"),
    "by-turns": SaddleCase(S.ByTurns(turn=2.0), T=60, seed_moves="state"),
    "core-set": SaddleCase(S.CoreSet(first=4), kind="ball", T=6, seed_moves="nothing"),
    "pdhg": SaddleCase(S.PDHG(), T=60, seed_moves="nothing"),
    "pdhg-game": SaddleCase(S.PDHG(), kind="game", T=60, seed_moves="nothing"),
    "grigoriadis-khachiyan": SaddleCase(S.GrigoriadisKhachiyan(), kind="game"),
}
NU = {
    "level-blocks": OneClassCase(S.LevelBlocks(first=16, block=8), T=40, seed_moves="state"),
    "level-blocks-weighted": OneClassCase(S.LevelBlocks(first=1024), weighted=True, T=20, seed_moves="nothing"),
    "nystroem-one-class": OneClassCase(S.Nystroem(20), weighted=True, T=2),
    "level-blocks-classes": NuClassCase(S.LevelBlocks(first=16, block=8), T=40, seed_moves="state"),
    "level-blocks-classes-weighted": NuClassCase(S.LevelBlocks(), weighted=True, T=20, seed_moves="nothing"),
    "level-blocks-targets": NuTargetCase(S.LevelBlocks(first=16, block=8), T=40, seed_moves="state"),
    "level-blocks-targets-weighted": NuTargetCase(S.LevelBlocks(), weighted=True, T=20, seed_moves="nothing"),
}
ONE_NORM = {
    "cdn": L1Case(S.CDN(), T=8, seed_moves="nothing"),  # when rounding is all that is left
    "cdn-small-free": L1Case(S.CDN(first=2, epochs=3), bias="free", weighted=True, T=8, seed_moves="nothing"),
    "cdn-penalized": L1Case(S.CDN(share=0.5), bias="penalized", weighted=True, T=8, seed_moves="nothing"),
}
FAMILIES = {
    "linear": LINEAR,
    "multiclass": MULTICLASS,
    "structured": STRUCTURED,
    "interior point": INTERIOR,
    "1-norm": ONE_NORM,
    "kernel": KERNEL,
    "cells": CELLS,
    "multiclass cells": MULTICLASS_CELLS,
    "saddle": SADDLE,
    "nu": NU,
}
REGISTERED = {"linear": LINEAR, "kernel": KERNEL}
for solves, cases in REGISTERED.items():  # with default settings, so that no solver escapes the laws
    there = {type(case.solver) for case in cases.values()}
    make = LinearCase if solves == "linear" else KernelCase
    wanted = {name: registry.BY_NAME[name].load() for name in registry.names(solves)}
    cases.update({name: make(cls()) for name, cls in wanted.items() if cls not in there})
CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}

NEEDS = {S.InteriorPoint: "clarabel", S.DeviceNewton: "torch", S.DeviceBlock: "torch"}
"""Packages that a solver is nothing without."""


def needed_by(case):
    """The package that a case needs, by its solver or by where it computes; None if there is none."""
    return "torch" if isinstance(case, DeviceCase) else NEEDS.get(type(case.solver))


def _marks(name):
    solver = type(CASES[name].solver)
    first = next(other for other, case in CASES.items() if type(case.solver) is solver)
    needed = needed_by(CASES[name])
    marks = [] if name == first and not needed else [pytest.mark.slow]
    if needed:
        marks += [pytest.mark.peer, pytest.mark.skipif(find_spec(needed) is None, reason=f"needs {needed}")]
    return marks


def every_case(*families):
    """A test of all cases, or of those of some families; quick is the first of a solver that needs no other package."""
    chosen = [name for family in families or FAMILIES for name in FAMILIES[family]]
    return pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name), id=name) for name in chosen])

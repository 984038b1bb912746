r"""What the five papers promise: iterations, runtimes and sample sizes, for plots beside measurements.

All functions take numbers or arrays that broadcast, and give floats or arrays. Counts are not rounded.
Each says what it leaves out: *Exact*, nothing; *O*, constants, which are taken as 1; *Õ*, logarithms too.
With O and Õ only slopes and ratios mean something. The letters are the same for all papers:

- lam is λ, the weight of the norm; delta is δ, the chance of failure (1/e makes ln(1/δ) = 1);
- eps is ε, the accuracy asked for (δ in SIMBA's Section 5); rho is ρ, the accuracy of the optimisation alone;
- B is the norm of the classifier to compete with (‖u‖ in the SBP paper); loss, or ℓ, is its expected hinge
  loss (R* and L(u) in the papers); r = (ℓ + ε)/ε;
- m or n are examples, as in the paper; d features, or the nonzeros of a row; T iterations;
- R bounds the norm of all points; it is 1 where a function does not ask for it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw

__all__: list[str] = []

Numbers = float | NDArray[Any]
P = ParamSpec("P")
Result = TypeVar("Result")
_TINY, _INF = float(np.finfo(float).tiny), float("inf")
_POSITIVE = dict.fromkeys(("lam", "eps", "rho", "R", "B", "c", "constant", "lra_iterations"), (_TINY, _INF))
_COUNTS = dict.fromkeys(("m", "n", "d", "T", "nonzeros"), (1.0, _INF))
_SHARES = dict.fromkeys(("delta", "sparsity"), (_TINY, 1.0))
_RANGES = _POSITIVE | _COUNTS | _SHARES | {"loss": (0.0, _INF), "power": (2.0, 5.0)}


def _checked(name: str, value: ArrayLike, least: float, most: float) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers; {value!r} was given.") from None
    wrong = ~((array >= least) & (array <= most) & np.isfinite(array))
    if wrong.any():
        low = "positive" if least == _TINY else f"at least {least:.4g}"
        high = "" if most == _INF else f" and at most {most:.4g}"
        raise ValueError(f"{name} must be finite, {low}{high}; {array[wrong].flat[0]:g} was given.")
    return array


def _bound(**ranges: tuple[float, float]) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """A public bound, whose arguments are checked and converted by their names; `ranges` are those that differ."""

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        __all__.append(function.__name__)
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> Result:
            given = signature.bind(*args, **kwargs)
            for name, value in given.arguments.items():
                if name in _RANGES and value is not signature.parameters[name].default:
                    given.arguments[name] = _checked(name, value, *ranges.get(name, _RANGES[name]))
            return function(*given.args, **given.kwargs)

        return checked

    return decorate


def _chosen(method: str, table: dict[str, Any]) -> Any:
    if method not in table:
        raise ValueError(f"method must be one of {', '.join(table)}; {method!r} was given.")
    return table[method]


# Pegasos: Shalev-Shwartz, Singer, Srebro 2007. ε is the excess of the objective, rows have norm at most R.


@_bound(T=(3, _INF))
def pegasos_gap(T: Numbers, lam: Numbers, R: Numbers = 1.0, delta: Numbers = 1.0) -> Numbers:
    r"""Excess objective after T iterations: :math:`(\sqrt\lambda + R)^2 \ln T / (\delta\lambda T)`.

    Pegasos, Theorem 2 (δ = 1: the mean), Theorem 3 (with chance 1 − δ), Corollary 1 (whole passes). Exact.

    Examples
    --------
    >>> from hinge.bounds import pegasos_gap
    >>> f"{pegasos_gap(T=1e6, lam=1e-4):.3g}"
    '0.141'
    """
    return (np.sqrt(lam) + R) ** 2 * np.log(T) / (delta * lam * T)


@_bound()
def pegasos_iterations(lam: Numbers, eps: Numbers, R: Numbers = 1.0, delta: Numbers = 1.0) -> Numbers:
    r"""The T from which `pegasos_gap` is at most ε: :math:`\tilde O(R^2/(\delta\lambda\epsilon))`.

    Pegasos, after Corollary 1 and Theorem 3. Exact: :math:`T = a \ln T` with :math:`a = (\sqrt\lambda +
    R)^2/(\delta\lambda\epsilon)` is solved by Lambert's function; T is at least 3, as in the theorems.

    Examples
    --------
    >>> from hinge.bounds import pegasos_iterations
    >>> f"{pegasos_iterations(lam=1e-4, eps=0.01):.3g}"
    '1.7e+07'
    """
    a = np.maximum((np.sqrt(lam) + R) ** 2 / (delta * lam * eps), 3 / np.log(3))
    return np.maximum(3.0, -a * np.real(lambertw(-1 / a, -1)))


@_bound()
def pegasos_runtime(lam: Numbers, eps: Numbers, d: Numbers, R: Numbers = 1.0, delta: Numbers = 1.0) -> Numbers:
    r"""Operations: :math:`d R^2/(\delta\lambda\epsilon)`, whatever m. Pegasos, abstract, Section 3. Õ.

    Examples
    --------
    >>> from hinge.bounds import pegasos_runtime
    >>> f"{pegasos_runtime(lam=1e-4, eps=0.01, d=100):.3g}"
    '1e+08'
    """
    return d * R**2 / (delta * lam * eps)


@_bound()
def pegasos_kernel_evaluations(lam: Numbers, eps: Numbers, m: Numbers, delta: Numbers = 1.0) -> Numbers:
    r"""Kernel values: :math:`T \min(m, T)` with :math:`T = 1/(\delta\lambda\epsilon)`.

    Pegasos, Section 4, "Using Mercer kernels". Õ.

    Examples
    --------
    >>> from hinge.bounds import pegasos_kernel_evaluations
    >>> f"{pegasos_kernel_evaluations(lam=1e-3, eps=0.1, m=1000):.3g}"
    '1e+07'
    """
    T = 1 / (delta * lam * eps)
    return T * np.minimum(m, T)


@_bound()
def svm_perf_runtime(m: Numbers, d: Numbers, lam: Numbers, eps: Numbers, R: Numbers = 1.0) -> Numbers:
    r"""Operations of SVM-Perf: :math:`m d R^2 / (\lambda\epsilon^2)`.

    Pegasos, Sections 1 and 3, of Joachims 2006. O. The talk has the later :math:`m/(\lambda\rho)`.

    Examples
    --------
    >>> from hinge.bounds import svm_perf_runtime
    >>> f"{svm_perf_runtime(m=1000, d=100, lam=1e-3, eps=0.1):.3g}"
    '1e+10'
    """
    return m * d * R**2 / (lam * eps**2)


# The talk: Shalev-Shwartz 2008, "Taking a Machine Learning Perspective". An inner product costs 1.


@_bound(rho=(0, _INF))
def error_decomposition(
    lam: Numbers, m: Numbers, rho: Numbers, B: Numbers, delta: Numbers = 1 / np.e, c: Numbers = 1.0
) -> tuple[Numbers, Numbers, Numbers]:
    r"""Excess error of a ρ-accurate solution: :math:`\lambda B^2/2`, :math:`c\ln(1/\delta)/(\lambda m)`, 2ρ.

    Talk, the theorem of "S, Srebro '08", with chance 1 − δ. Exact up to c, which is not given.

    Examples
    --------
    >>> from hinge.bounds import error_decomposition
    >>> [f"{part:.3g}" for part in error_decomposition(lam=1e-3, m=1000, rho=0.01, B=5)]
    ['0.0125', '1', '0.02']
    """
    return lam * B**2 / 2, c * np.log(1 / delta) / (lam * m), 2 * rho


@_bound()
def sample_size(B: Numbers, eps: Numbers) -> Numbers:
    r"""Examples that learning needs: :math:`(B/\epsilon)^2`. Talk, "Intermediate Summary". Õ (and Ω).

    Examples
    --------
    >>> from hinge.bounds import sample_size
    >>> f"{sample_size(B=10, eps=0.1):.3g}"
    '1e+04'
    """
    return (B / eps) ** 2


@_bound(rho=(_TINY, 1))
def smo_runtime(m: Numbers, rho: Numbers) -> Numbers:
    r"""SMO's time: :math:`m^2 \log(1/\rho)`. Talk, "Approximated Optimization". O. ρ ≤ 1.

    Examples
    --------
    >>> from hinge.bounds import smo_runtime
    >>> f"{smo_runtime(m=1000, rho=0.01):.3g}"
    '4.61e+06'
    """
    return m**2 * np.log(1 / rho)


@_bound(T=(3, _INF))
def sgd_gap(T: Numbers, lam: Numbers) -> Numbers:
    r"""ρ of SGD (Pegasos): :math:`\log(T)/(\lambda T)`. Talk, "Comparing SGD and DCA". O. T ≥ 3.

    Examples
    --------
    >>> from hinge.bounds import sgd_gap
    >>> f"{sgd_gap(T=1e6, lam=1e-4):.3g}"
    '0.138'
    """
    return np.log(T) / (lam * T)


@_bound()
def dca_gap(T: Numbers, m: Numbers, lam: Numbers, delta: Numbers = 1 / np.e, c: Numbers = 8.0) -> Numbers:
    r"""ρ of stochastic dual coordinate ascent: :math:`8\ln(1/\delta)(1/\lambda + m)/T`.

    Talk, the theorem of "S '08", with chance 1 − δ. Exact; c = 1 is the O of "Comparing SGD and DCA".

    Examples
    --------
    >>> from hinge.bounds import dca_gap
    >>> f"{dca_gap(T=1e6, m=1000, lam=1e-4):.3g}"
    '0.088'
    """
    return c * np.log(1 / delta) * (1 / lam + m) / T


@_bound()
def dca_refined_gap(T: Numbers, m: Numbers, lam: Numbers, B: Numbers, c: Numbers = 1.0) -> Numbers:
    r"""The same, refined: :math:`c(1/\lambda + \lambda m B^2 + B\sqrt m)/(T - m)`, or one epoch is enough.

    Talk, "DCA refined analysis", with high probability. O: c is not given. Infinite where T ≤ m.

    Examples
    --------
    >>> from hinge.bounds import dca_refined_gap
    >>> f"{dca_refined_gap(T=1e6, m=1000, lam=1e-4, B=10):.3g}"
    '0.0103'
    """
    ahead = np.asarray(T - m, dtype=float)
    left = np.where(ahead > 0, ahead, 1.0)
    return np.where(ahead > 0, c * (1 / lam + lam * m * B**2 + B * np.sqrt(m)) / left, np.inf)[()]


@_bound(T=(3, _INF))
def dca_over_sgd(T: Numbers, m: Numbers, lam: Numbers) -> Numbers:
    r"""ρ of DCA over ρ of SGD: :math:`(1 + \lambda m)/\log T`; below 1, DCA is ahead.

    Talk, "Comparing SGD and DCA", whose conclusion :math:`\lambda m < \log T` drops the 1. O. T ≥ 3.

    Examples
    --------
    >>> from hinge.bounds import dca_over_sgd
    >>> f"{dca_over_sgd(T=1e6, m=1000, lam=1e-4):.3g}"
    '0.0796'
    """
    return (1 + lam * m) / np.log(T)


@_bound()
def learning_runtime(method: str, B: Numbers, eps: Numbers) -> Numbers:
    r"""Time to excess error ε: :math:`B^2/\epsilon^2` (sgd, dca_refined), :math:`B^2/\epsilon^3` (dca),
    :math:`B^4/\epsilon^4` (smo, svm_perf).

    Talk, the table T(m, B, ε), and the slides on DCA; λ and m are the best ones. Õ.

    Examples
    --------
    >>> from hinge.bounds import learning_runtime
    >>> f"{learning_runtime('sgd', B=10, eps=0.1):.3g}"
    '1e+04'
    """
    exponents = {"sgd": (2, 2), "dca_refined": (2, 2), "dca": (2, 3), "smo": (4, 4), "svm_perf": (4, 4)}
    of_norm, of_eps = _chosen(method, exponents)
    return B**of_norm / eps**of_eps


@_bound()
def sgd_runtime_more_data(m: Numbers, B: Numbers, eps: Numbers) -> Numbers:
    r"""Iterations of Pegasos to excess error ε with m examples: :math:`(\epsilon/B - 1/\sqrt m)^{-2}`.

    Talk, "Dependence on Data Set Size". Õ. Infinite where m ≤ (B/ε)²: no time is enough.

    Examples
    --------
    >>> from hinge.bounds import sgd_runtime_more_data
    >>> f"{sgd_runtime_more_data(m=1e6, B=10, eps=0.1):.3g}"
    '1.23e+04'
    """
    room = np.asarray(eps / B - 1 / np.sqrt(m))
    return np.where(room > 0, np.where(room > 0, room, 1.0) ** -2.0, np.inf)[()]


# SIMBA: Hazan, Koren, Srebro 2011. Learning wants a test error of at most ℓ + ε (in the paper R* + δ).


@_bound()
def simba_iterations(n: Numbers, eps: Numbers, constant: Numbers = 100.0) -> Numbers:
    r"""Iterations to an ε-approximate margin with probability 1/2: :math:`100^2 \log n / \epsilon^2`.

    SIMBA, Algorithm 1 and Theorem 4.3. Exact, but the proof is a sketch; `constant` may replace the 100.

    Examples
    --------
    >>> from hinge.bounds import simba_iterations
    >>> f"{simba_iterations(n=1000, eps=0.1):.3g}"
    '6.91e+06'
    """
    return constant**2 * np.log(n) / eps**2


@_bound()
def simba_runtime(n: Numbers, d: Numbers, eps: Numbers, sparsity: Numbers = 1.0) -> Numbers:
    r"""Time to an ε-approximate margin: :math:`\alpha(n + d)/\epsilon^2`, α the share of nonzeros.

    SIMBA, Theorem 4.3, and "The sparse case" for α < 1. Õ.

    Examples
    --------
    >>> from hinge.bounds import simba_runtime
    >>> f"{simba_runtime(n=1000, d=500, eps=0.1):.3g}"
    '1.5e+05'
    """
    return sparsity * (n + d) / eps**2


@_bound()
def generalization_gap(n: Numbers, B: Numbers, loss: Numbers) -> Numbers:
    r"""Test error above the mean hinge loss of n examples: :math:`B^2/n + \sqrt{B^2 \ell/n}`.

    SIMBA, Eq. (8), of Srebro et al. 2010; here `loss` is that on the sample. Õ.

    Examples
    --------
    >>> from hinge.bounds import generalization_gap
    >>> f"{generalization_gap(n=1000, B=10, loss=0.1):.3g}"
    '0.2'
    """
    return B**2 / n + np.sqrt(B**2 * loss / n)


@_bound()
def sample_size_low_noise(B: Numbers, eps: Numbers, loss: Numbers) -> Numbers:
    r"""Examples enough for an error of ℓ + ε: :math:`r B^2/\epsilon`. SIMBA, Eq. (9); SBP, Eq. (3.5). Õ.

    Examples
    --------
    >>> from hinge.bounds import sample_size_low_noise
    >>> f"{sample_size_low_noise(B=10, eps=0.1, loss=0.05):.3g}"
    '1.5e+03'
    """
    return B**2 / eps * (loss + eps) / eps


@_bound()
def online_runtime(d: Numbers, B: Numbers, eps: Numbers, loss: Numbers) -> Numbers:
    r"""One online pass over that sample: :math:`d\,r B^2/\epsilon`. SIMBA, Eq. (10). Õ.

    Examples
    --------
    >>> from hinge.bounds import online_runtime
    >>> f"{online_runtime(d=100, B=10, eps=0.1, loss=0.05):.3g}"
    '1.5e+05'
    """
    return d * sample_size_low_noise(B, eps, loss)


@_bound(B=(1, _INF))
def simba_learning_runtime(d: Numbers, B: Numbers, eps: Numbers, loss: Numbers) -> Numbers:
    r"""SIMBA's time to an error of ℓ + ε: :math:`(B^2 d + B^4 r/\epsilon)\, r^2`.

    SIMBA, Corollary 5.1 (survey, Corollary 5.3). Õ. B ≥ 1.

    Examples
    --------
    >>> from hinge.bounds import simba_learning_runtime
    >>> f"{simba_learning_runtime(d=100, B=10, eps=0.1, loss=0.05):.3g}"
    '3.6e+05'
    """
    r = (loss + eps) / eps
    return (B**2 * d + B**4 * r / eps) * r**2


@_bound(B=(1, _INF))
def simba_gain(d: Numbers, B: Numbers, eps: Numbers, loss: Numbers) -> Numbers:
    r"""`online_runtime` over `simba_learning_runtime`: :math:`1/((\ell + \epsilon) + B^2 r^2/d)`.

    SIMBA, Eq. (10) over Eq. (11). Õ. B ≥ 1. The text's gain of 1/(ℓ + ε) is the limit for large d: it needs
    :math:`d \gg B^2 r^2/(\ell + \epsilon)`. The text's :math:`d \gg B^2 r^2` gives only some gain.

    Examples
    --------
    >>> from hinge.bounds import simba_gain
    >>> f"{simba_gain(d=1e5, B=10, eps=0.1, loss=0.05):.3g}"
    '6.57'
    """
    return online_runtime(d, B, eps, loss) / simba_learning_runtime(d, B, eps, loss)


# SBP: Cotter, Shalev-Shwartz, Srebro 2012. A kernel value costs 1; learning wants an error of ℓ + ε.


@_bound()
def slack_accuracy(B: Numbers, eps: Numbers, loss: Numbers) -> Numbers:
    r"""How well to solve the slack-constrained problem: :math:`\min(\epsilon/(2\ell + \epsilon), 1/2)/B`.

    SBP, Eq. (3.7). Exact. *Differs*: the paper has no 1/2, but its ‖w‖ ≤ 2B needs one where 2ℓ < ε.

    Examples
    --------
    >>> from hinge.bounds import slack_accuracy
    >>> f"{slack_accuracy(B=10, eps=0.1, loss=0.05):.3g}"
    '0.05'
    """
    return np.minimum(eps / (2 * loss + eps), 0.5) / B


@_bound()
def sbp_kernel_evaluations(n: Numbers, eps: Numbers, delta: Numbers = 1 / np.e) -> Numbers:
    r"""Kernel values to a margin within ε, with chance 1 − δ: :math:`n \log(1/\delta)/\epsilon^2`.

    SBP, Lemma 3.2 and what follows it; n in each iteration. O.

    Examples
    --------
    >>> from hinge.bounds import sbp_kernel_evaluations
    >>> f"{sbp_kernel_evaluations(n=1000, eps=0.1):.3g}"
    '1e+05'
    """
    return n * np.log(1 / delta) / eps**2


@_bound()
def kernel_learning_runtime(method: str, B: Numbers, eps: Numbers, loss: Numbers = 0.0) -> Numbers:
    r"""Kernel values to an error of ℓ + ε: :math:`r^k B^4/\epsilon^{4-k}`.

    SBP, Table 1 and Section 4.5. k is 3 for sbp and perceptron, 2 for dual_decomposition (SMO), 1 for sgd
    (Pegasos); ``loss=0`` is the column ε = Ω(L(u)). Õ.

    Examples
    --------
    >>> from hinge.bounds import kernel_learning_runtime
    >>> f"{kernel_learning_runtime('sbp', B=10, eps=0.1, loss=0.05):.3g}"
    '3.38e+05'
    """
    k = _chosen(method, {"sbp": 3, "perceptron": 3, "dual_decomposition": 2, "sgd": 1})
    return ((loss + eps) / eps) ** k * B**4 / eps ** (4 - k)


@_bound()
def perceptron_mistakes(n: Numbers, B: Numbers, loss: Numbers) -> Numbers:
    r"""Mistakes of one pass of the Perceptron: :math:`M = n\ell + B\sqrt{n\ell} + B^2`; kernel values are nM.

    SBP, Section 4.5; in the mean. Exact. The scan has B² in the root: below :math:`M = n\ell + B\sqrt M`.

    Examples
    --------
    >>> from hinge.bounds import perceptron_mistakes
    >>> f"{perceptron_mistakes(n=1000, B=10, loss=0.05):.3g}"
    '221'
    """
    return n * loss + B * np.sqrt(n * loss) + B**2


@_bound()
def sdca_kernel_iterations(n: Numbers, lam: Numbers, eps: Numbers) -> Numbers:
    r"""Iterations of SDCA: :math:`n/(\lambda\epsilon)`, n times Pegasos' number; each costs n kernel values.

    SBP, Section 4.4, "not satisfying". Õ. `dca_gap` of the talk is better.

    Examples
    --------
    >>> from hinge.bounds import sdca_kernel_iterations
    >>> f"{sdca_kernel_iterations(n=1000, lam=1e-3, eps=0.1):.3g}"
    '1e+07'
    """
    return n / (lam * eps)


# The survey: Irpan, Kwan 2015. Rows and matrices have norm at most 1; ε is the distance to the best margin.


@_bound()
def perceptron_runtime(nonzeros: Numbers, eps: Numbers) -> Numbers:
    r"""The classical Perceptron's time: :math:`M/\epsilon^2`, M the nonzeros. Survey, Section 2.2. O.

    Examples
    --------
    >>> from hinge.bounds import perceptron_runtime
    >>> f"{perceptron_runtime(nonzeros=1e6, eps=0.1):.3g}"
    '1e+08'
    """
    return nonzeros / eps**2


@_bound()
def sublinear_perceptron_iterations(n: Numbers, eps: Numbers, constant: Numbers = 200.0) -> Numbers:
    r"""Iterations to ε with probability 1/2: :math:`200^2 \log n/\epsilon^2`.

    Survey, Algorithm 1 and Theorem 2.8. Exact. The remark after the proof says that 30 "should work" too.

    Examples
    --------
    >>> from hinge.bounds import sublinear_perceptron_iterations
    >>> f"{sublinear_perceptron_iterations(n=1000, eps=0.1):.3g}"
    '2.76e+07'
    """
    return constant**2 * np.log(n) / eps**2


@_bound()
def sublinear_perceptron_gap(T: Numbers, n: Numbers) -> Numbers:
    r"""Loss of margin after T iterations, with probability 1/2: :math:`23\sqrt{\log n/T} + 2\sqrt{2/T}`.

    Survey, proof of Theorem 2.8. Exact, with the last term, which the end of the proof drops.

    Examples
    --------
    >>> from hinge.bounds import sublinear_perceptron_gap
    >>> f"{sublinear_perceptron_gap(T=1e6, n=1000):.3g}"
    '0.0633'
    """
    return 23 * np.sqrt(np.log(n) / T) + 2 * np.sqrt(2 / T)


@_bound()
def sublinear_perceptron_runtime(n: Numbers, d: Numbers, eps: Numbers) -> Numbers:
    r"""Time of this method, and of any other at least: :math:`(n + d)/\epsilon^2`. Survey, Section 2.2. Õ.

    Examples
    --------
    >>> from hinge.bounds import sublinear_perceptron_runtime
    >>> f"{sublinear_perceptron_runtime(n=1000, d=500, eps=0.1):.3g}"
    '1.5e+05'
    """
    return (n + d) / eps**2


@_bound()
def generic_iterations(n: Numbers, eps: Numbers, lra_iterations: Numbers | None = None) -> Numbers:
    r"""Iterations of the generic primal-dual method: :math:`\max(T_\epsilon(LRA), \log n/\epsilon^2)`.

    Survey, Theorem 3.1. O. If none is given, the LRA of Lemma 2.7 is used: :math:`8/\epsilon^2`.

    Examples
    --------
    >>> from hinge.bounds import generic_iterations
    >>> f"{generic_iterations(n=1000, eps=0.1):.3g}"
    '800'
    """
    return np.maximum(8 / eps**2 if lra_iterations is None else lra_iterations, np.log(n) / eps**2)


@_bound(m=(2, _INF))
def sdp_iterations(m: Numbers, eps: Numbers, constant: Numbers = 60.0) -> Numbers:
    r"""Iterations of the sublinear SDP: :math:`60^2 \log m/\epsilon^2`. Survey, Theorem 4.6. Exact. m ≥ 2.

    Examples
    --------
    >>> from hinge.bounds import sdp_iterations
    >>> f"{sdp_iterations(m=1000, eps=0.1):.3g}"
    '2.49e+06'
    """
    return constant**2 * np.log(m) / eps**2


@_bound()
def sdp_runtime(m: Numbers, n: Numbers, eps: Numbers, power: Numbers = 5.0) -> Numbers:
    r"""Time for m constraints on n × n matrices: :math:`m/\epsilon^2 + n^2/\epsilon^{power}`.

    Survey, end of Section 4.3: power 5 is Algorithm 3, 2.5 Garber and Hazan 2012, 2 the lower bound. Õ.

    Examples
    --------
    >>> from hinge.bounds import sdp_runtime
    >>> f"{sdp_runtime(m=1000, n=50, eps=0.1):.3g}"
    '2.5e+08'
    """
    return m / eps**2 + n**2 / eps**power

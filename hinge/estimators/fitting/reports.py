"""What a fit tells: to standard error and to callbacks each time its answer is evaluated, and warnings at its end."""

import math
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from hinge.access.streams.base import RowStream
from hinge.access.tables.table import Table
from hinge.estimators.fitting.decorators import CallbackContext
from hinge.estimators.fitting.parameters import KernelData
from hinge.monitoring import History, Record, Status
from hinge.monitoring.progress import looks_without_progress, time_left
from hinge.problems import Expansion, Problem, Solution
from hinge.solvers.base import Solver

Report = Callable[[int, Problem | None, Record, Solution], bool]
"""Gets the number of the run, its problem (None if that is not at hand), a record, and the answer to the problem."""

Measure = Callable[[int, Problem | None, Record, Solution | Expansion], Record]
"""Gets the same as a report, and returns the record, with objective and gap if they were measured."""

STALLED_ADVICE = "Scale the features, regularise more (a smaller C), or ask for less."
FEW_ROWS = 100
"""No warning of constant predictions with fewer rows than this: a toy."""

Rebuilt: TypeAlias = Callable[[Any], dict[str, Any]]
"""A function that turns an answer into the fitted attributes for predictions."""


def reports_of(
    model: BaseEstimator,
    X: KernelData | Table | RowStream,
    y: np.ndarray | None,
    names: Sequence[str],
    rebuilt: Rebuilt | None,
) -> tuple[Report, ...]:
    """The functions to call at each evaluation: one that prints, if `verbose`, and one for scikit-learn's callbacks.

    `names` are the names of the runs, empty if there is only one. `rebuilt` turns an answer into fitted attributes;
    None if a single run is not a model by itself.
    """
    if not (model.verbose or getattr(model, "_skl_callbacks", None)):
        return ()
    limited = any(getattr(model, name, None) is not None for name in ("max_reads", "max_kernel_evals"))
    measure = gaps_within(None if limited or isinstance(X, Table) else 0.1)
    cells = X.n_cells if isinstance(X, RowStream) else None
    reports: list[Report] = (
        [to_stderr(names, float(model.tol), measure, model.max_time, cells)] if model.verbose else []
    )
    if getattr(model, "_skl_callbacks", None):  # of scikit-learn 1.9 and later
        root = model._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=model, X=X, y=y)
        reports.append(to_callbacks(model, root, X, y, rebuilt, measure))
    return tuple(reports)


def gaps_within(share: float | None) -> Measure:
    """A function that adds objective and gap to a record without them, where that is cheap.

    A certificate of a kernel machine reads no cells. Of others it is a pass over the rows, made once a run has read so
    much that all of these passes together are at most this `share` of it; the first is made in any case. None is made
    without a share: where reads are limited or have a price.
    """
    read: Counter[int] = Counter()

    def measure(k: int, problem: Problem | None, record: Record, solution: Solution | Expansion) -> Record:
        if share is None or problem is None or np.isfinite(record.gap):
            return record
        if read[k] > share * record.feature_reads:
            return record
        read[k] += problem.pass_cells
        found = problem.certificate(solution)
        return record._replace(objective=found.objective, gap=found.gap)

    return measure


def to_callbacks(
    model: BaseEstimator,
    root: CallbackContext,
    X: KernelData | Table | RowStream,
    y: np.ndarray | None,
    rebuilt: Rebuilt | None,
    measure: Measure,
) -> Report:
    """A report that opens a subtask of the fit for each evaluation.

    Its context has the record as an attribute, the number of the run, a function that computes the objective, which
    costs a pass over the rows (None if it is not known here), and one that returns the record with its gap, if cheap.
    """

    def report(k: int, problem: Problem | None, record: Record, solution: Solution | Expansion) -> bool:
        context = root.subcontext(task_name="look")
        context.record, context.run = record, k
        context.measure_objective = None if problem is None else partial(problem.objective, solution)
        context.measured_record = partial(measure, k, problem, record, solution)
        context.call_on_fit_task_begin(estimator=model, X=X, y=y)
        asked = context.call_on_fit_task_end(
            estimator=model, X=X, y=y, reconstruction_attributes=None if rebuilt is None else lambda: rebuilt(solution)
        )
        return bool(asked)

    return report


def to_stderr(
    names: Sequence[str], tol: float, measure: Measure, max_time: float | None = None, cells: int | None = None
) -> Report:
    """A report that writes a line to standard error, with an estimate of the time left to a gap of `tol`, if known.

    `cells` are those of rows that are read from a disk, in passes, which are then counted.
    """
    looks: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)

    def report(k: int, problem: Problem | None, record: Record, solution: Solution | Expansion) -> bool:
        name, record = f"{names[k]}: " if names else "", measure(k, problem, record, solution)
        parts = [f"{record.seconds:8.2f} s", f"{record.feature_reads:,} reads"]
        if record.kernel_evals:
            parts[1] = f"{record.kernel_evals:,} kernel values"
        if cells:
            parts[1] += f" ({record.feature_reads / cells:.1f} passes)"
        if np.isfinite(record.gap):
            parts.append(f"objective {record.objective:.6g}, gap {record.gap:.2e}")
            looks[k].append((record.seconds, float(record.gap)))
            left, still = time_left(looks[k], tol), looks_without_progress(looks[k])
            if still > 1 and record.gap > tol:
                parts.append(f"no smaller for {still} looks")
            elif left:
                limit = math.inf if max_time is None else max(0.0, max_time - record.seconds)
                parts.append(f"about {min(left, limit):.3g} s left")
        if np.isfinite(record.score):
            parts.append(f"held-out error {record.score:.4f}")
        sys.stderr.write(f"[hinge] {name}{', '.join(parts)}\n")
        return False

    return report


class Ends(NamedTuple):
    """How runs ended.

    Attributes
    ----------
    statuses : sequence of Status
        Each status once, in the order of the first run that ended so.
    gaps, objectives, rounds : ndarray of shape (n_runs,)
        Of their certificates, and the iterations they made.
    histories : sequence of History
    solutions : sequence
        Their answers; the one answer of a batch.
    solver : Solver
    """

    statuses: Sequence[Status]
    gaps: np.ndarray
    objectives: np.ndarray
    rounds: np.ndarray
    histories: Sequence[History]
    solutions: Sequence[Any]
    solver: Solver


def report_histories(reports: Sequence[Report], ends: Ends) -> None:
    """Report the records of a batch, which is solved in one call with one answer, once it has ended."""
    for k, history in enumerate(ends.histories):
        for record in history:
            for report in reports:
                report(k, None, record, ends.solutions[0])


def how_all_ended(
    every: Sequence[Status], gap: float, tol: float, max_iter: int | None = None, if_stalled: str = STALLED_ADVICE
) -> Status:
    """One status for all runs, with a warning if a limit cut one off or one has no certificate.

    If `max_iter` is given and was the limit, the warning begins like scikit-learn's, for code that filters by that.
    `if_stalled` is the advice if rounding ended the run: more time would not help.
    """
    cut_off = [status for status in every if not status.is_success]
    other = [status for status in every if status is not Status.CONVERGED]
    status = Status.INTERRUPTED if Status.INTERRUPTED in every else (cut_off or other or every)[0]
    at_a_limit = bool(cut_off) and status is not Status.INTERRUPTED
    asked = status in (Status.TARGET, Status.CALLBACK)  # another criterion than the gap has been met
    if at_a_limit or (math.isinf(gap) and not asked):
        reached = (
            f"a certified relative gap of {gap:.2g} (" if math.isfinite(gap) else f"no certificate (gap_={gap:g}, "
        )
        why = f"The fit ended because {status.value}, with {reached}tol={tol:g})."
        if at_a_limit:
            why += f" {if_stalled if status is Status.STALLED else 'Allow more, or ask for less.'}"
        elif status is Status.FINISHED and if_stalled != STALLED_ADVICE:  # there are no more steps
            why += f" {if_stalled}"
        if status is Status.MAX_ITER and max_iter is not None:
            why = (
                f"Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler. {why}"
            )
        warn_caller(why, ConvergenceWarning)
    elif Status.STATIONARY in every:
        warn_caller(
            "The kernel is not positive semidefinite, so the answer is a stationary point, as LIBSVM finds "
            "it, and has no certificate: gap_ is nan."
        )
    return status


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point to the line that called this package, however many calls and decorators lie between."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("hinge.", "sklearn.callback")):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


class ConstantPredictionWarning(UserWarning):
    """A fitted classifier predicts the same class for all of its training rows.

    Examples
    --------
    >>> import warnings
    >>> from hinge import ConstantPredictionWarning, LinearSVC
    >>> X, y = [[0.1 * i] for i in range(200)], [0] * 199 + [1]  # one positive row, among many
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVC(C=1e-3).fit(X, y)
    >>> [issubclass(warning.category, ConstantPredictionWarning) for warning in said]
    [True]
    """


def rules_out_constant(codes: np.ndarray, objective: np.ndarray | float) -> bool:
    """Whether the mean losses of all problems, or more, exclude that one class is predicted for all rows.

    Of two classes, a row on the wrong side has a loss of at least 1. Of more, each against the rest, a row for which
    another class than its own is predicted has two losses x + z ≥ 2, or x² + z² ≥ 2: in its own class and in that one.
    """
    rows = np.bincount(codes)
    return float(np.sum(objective)) * len(codes) < (1 if len(rows) == 2 else 2) * (len(codes) - int(rows.max()))


def warn_if_constant(
    codes: np.ndarray,
    classes: np.ndarray,
    predicted: Callable[[Any], np.ndarray],
    *,
    at_each_end: int = 8,
    of_each_kind: int = 32,
) -> None:
    """Warn if one class is predicted for all training rows.

    A few rows suffice to exclude this for nearly every model: the first and the last, or some of the rarest class and
    some of the others, if two classes are predicted among them. Only otherwise are all rows predicted.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class index of each row.
    classes : ndarray
    predicted : callable
        Returns the predicted class indices of some rows, given by a range, an array of indices or a slice.
    at_each_end, of_each_kind : int
        Rows at the beginning and at the end that are tested first, and rows of the rarest class and of the others that
        are tested next: so few that the test takes no measurable time beside a fit.
    """
    if len(codes) < FEW_ROWS:
        return
    n = len(codes)
    first = predicted(range(at_each_end))
    if not _one_answer(first) or not _one_answer(np.append(first, predicted(range(n - at_each_end, n)))):
        return
    rare = codes == int(np.bincount(codes, minlength=len(classes)).argmin())
    parts = (np.flatnonzero(part) for part in (rare, ~rare))
    some = np.concatenate([part[:: max(1, len(part) // of_each_kind)][:of_each_kind] for part in parts])
    if _one_answer(predicted(some)):
        warn_of_answers(codes, classes, predicted(slice(None)))


def warn_of_answers(codes: np.ndarray, classes: np.ndarray, answers: np.ndarray) -> None:
    """Warn if the class indices predicted for all training rows are all equal."""
    if len(codes) < FEW_ROWS or not _one_answer(answers):
        return
    code = int(answers[0])
    warn_caller(
        f"This model predicts class {classes.tolist()[code]!r} for all of its {len(codes):,} training rows, of which "
        f"{np.count_nonzero(codes != code):,} are of other classes. Give class_weight='balanced' or a larger C, or "
        "move the threshold: see hinge.choose_threshold.",
        ConstantPredictionWarning,
    )


def _one_answer(answers: np.ndarray) -> bool:
    return bool((answers == answers[0]).all())

"""Fits of a kernel classifier or regression along C on a device: all folds, values of C and classes jointly."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hinge.access.arrays import to_host
from hinge.access.gram.device import DeviceGram, import_torch
from hinge.estimators import SVC, SVR
from hinge.kernels import Gaussian, Kernel, Linear
from hinge.monitoring import Stop
from hinge.monitoring.interrupts import now
from hinge.problems.batch import BatchCertificate
from hinge.problems.svm.gram_batch import INVERSES, GramBatch
from hinge.selection.kernel_path import KernelPath, RunAnswer
from hinge.selection.paths import Refits
from hinge.selection.scoring import SearchData
from hinge.solvers import solve
from hinge.solvers.kernel.gram_splitting import GramSplitting

if TYPE_CHECKING:
    import torch

OF_A_CELL = 96
"""Bytes for each point of each problem: the iterate, the answer, and what a step and an evaluation need."""


class DevicePath(KernelPath):
    """The problems of an `SVC` or `SVR` with one kernel on a device, for all values of C and all folds.

    As many as memory holds are solved jointly. Those that do not reach their tolerance there are fitted one by one.

    Parameters
    ----------
    model : SVC or SVR
    data : SearchData
    gamma : float, optional
        In place of the model's own.
    """

    held: "torch.Tensor"

    def groups(self, folds: Sequence[int], threads: int) -> list[list[int]]:
        """All folds: the device has threads of its own."""
        return [list(folds)]

    @staticmethod
    def fits(model: SVC | SVR, data: SearchData) -> bool:
        """Whether the fit is on a device that can hold the kernel values and their inverses."""
        if model.device in (None, "cpu") or model.solver != "auto" or model.n_components is not None:
            return False
        if model.max_kernel_evals is not None or model.max_iter != -1:
            return False
        if not (model.kernel in ("linear", "rbf", "poly") or isinstance(model.kernel, Gaussian | Linear)):
            return (
                False  # of others it is not known that they are positive semidefinite, or that a device can have them
            )
        torch = import_torch(model.device)
        room = torch.cuda.mem_get_info(model.device)[0] if torch.device(model.device).type == "cuda" else 4 << 30
        return 4.0 * (INVERSES + 4) * len(data.y) ** 2 <= 0.7 * room

    def _held(self, kernel: Kernel) -> Any:
        gram = DeviceGram(self.data.X, kernel, self.model.device, self.model.precision)
        return gram.among(gram.array(np.arange(self.n)))

    def _values(self, run: "RunAnswer | np.ndarray", rows: np.ndarray | None) -> np.ndarray:
        assert isinstance(run, np.ndarray)
        return run if rows is None else run[rows]

    def _solved(
        self, trains: Sequence[np.ndarray | None], Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[list[Any]]:
        """The decision values of all rows by each problem, for each C, until time is up."""
        tasks = [self._tasks(train) for train in trains]
        some = max(1, (2 << 30) // (OF_A_CELL * self.n * sum(map(len, tasks))))
        for lo in range(0, len(Cs), some):
            left = None if ends is None else ends - now()
            if left is not None and left <= 0:
                return
            part = Cs[lo : lo + some]
            problem = self._batch([(C, task) for C in part for own in tasks for task in own])
            result = solve(problem, GramSplitting(tol=tol), stop=Stop(tol, None, left), seed=self.seed)
            values = to_host((result.solution.responses + result.solution.biases).T)
            assert isinstance(result.certificate, BatchCertificate)
            gaps = result.certificate.column("gap").reshape(len(part), len(tasks), -1)
            values = values.reshape(len(part), len(tasks), -1, self.n)
            for C, found, reached in zip(part, values, gaps <= tol, strict=True):
                for k in np.flatnonzero(~reached.all(-1)).tolist():
                    train = cast(np.ndarray, trains[k])  # leave-one-out is not for devices
                    refits = Refits(self.model, self.data, None).along([(train, train)], [C], tol, ends)
                    if (alone := next(refits, None)) is None:  # time is up
                        return
                    found[k] = alone[0]._scores(self.data.X).T
                yield list(found.reshape(-1, self.n))

    def _batch(self, members: Sequence[tuple[float, Any]]) -> GramBatch:
        """The problems of these C and tasks: rows that take no part have a box of zero."""
        aims, boxes = np.ones((len(members), self.n)), np.zeros((len(members), self.n))
        for aim, box, (C, (rows, y, weight, _)) in zip(aims, boxes, members, strict=True):
            at: Any = slice(None) if rows is None else rows
            aim[at], box[at] = y, C * (1.0 if weight is None else weight)
        return GramBatch(self.held, self._sent(aims.T), self._sent(boxes.T), self.loss, free=self.free)

    def _sent(self, a: np.ndarray) -> "torch.Tensor":
        return import_torch(str(self.held.device)).as_tensor(np.ascontiguousarray(a), device=self.held.device)

"""The rows that an epoch visits: a sorted list, cut into blocks whose order is drawn anew each epoch."""

import numpy as np

from hinge.access import Matrix
from hinge.compiled import Scalars, compiled, scalars
from hinge.problems import Multiclass, Regularized
from hinge.sampling import draw_index

IN_MEMORY = 1 << 33  # bytes; larger data may lie on a disk, so blocks are then as long as some pages
PAGES = 1 << 14
LOOK_CELLS = 1 << 17  # visiting this many cells takes several times as long as one evaluation of the answer
SHRUNK = np.uint32(1 << 31)  # marks a row of the list that leaves it at the end of the epoch

# Short functions are inlined: that compiles sooner than a function of its own would.


def first_epoch() -> Scalars:
    """The place in an epoch, before the first.

    `t`: rows visited in all; `draws`: random numbers used; `stale`: whether the next epoch visits all rows;
    `active`: rows on the list of this epoch, of which `visited` are done: the first `block` blocks and
    `offset` rows of the next one; `rows`: rows that the last epoch visited.
    """
    return scalars(t=0, draws=0, stale=True, active=0, visited=0, block=0, offset=0, rows=0)


def rows_a_block(matrix: Matrix) -> int:
    """The number of neighbouring rows that are visited together: two take little longer to load than one."""
    cell = matrix.dtype.itemsize + (4 if matrix.is_sparse else 0)
    size = cell * matrix.n_cells
    return 2 if size <= IN_MEMORY else int(max(2, PAGES * matrix.n // size))


def rows_to_look(problem: Regularized | Multiclass, epoch: Scalars, ends_itself: bool = False) -> int:
    """Rows until the next evaluation: to the end of the epoch, or beyond if an evaluation costs more than an epoch.

    A run that `ends_itself` once it expects to have converged is evaluated only to show its progress, 16 times as
    seldom.
    """
    if epoch.visited == 0 and (epoch.stale or epoch.active == 0):
        return problem.n if len(problem.weight) == 1 else int(np.count_nonzero(problem.weight))
    n, t = problem.n, int(epoch.t)
    worth = LOOK_CELLS * n // max(1, problem.matrix.n_cells)
    if ends_itself and n <= 16 * worth:
        mark = n
        while mark <= t:  # four times as far each time, at first
            mark += min(3 * mark, max(n, 16 * worth))
        return mark - t
    step = max(1, n // 16, min(worth, 4 * n))
    while 8 * step <= t and 2 * step <= worth:  # the longer a run, the rarer: at most every eighth of it
        step *= 2
    left = int(epoch.active - epoch.visited)
    # Evaluations lie on a grid, so that they do not depend on where a run was interrupted.
    return left if left >= step else step - t % step


@compiled(inline="always")
def begin(epoch, active, order, weight, block_rows, key):
    """Draw the order of an epoch's blocks; returns whether it visits all rows that have a weight."""
    everything = list_rows(epoch, active, weight)
    epoch.draws = shuffle(order, -(-epoch.active // block_rows), key, epoch.draws)
    return everything


@compiled(inline="always")
def list_rows(epoch, active, weight):
    """Put all rows that have a weight on the list, if that is due; returns whether it was."""
    everything = epoch.stale or epoch.active == 0
    if everything:
        kept = 0
        for i in range(len(active)):
            if len(weight) == 1 or weight[i] > 0.0:
                active[kept] = i
                kept += 1
        epoch.active, epoch.stale = kept, False
    return everything


@compiled(inline="always")
def next_rows(epoch, block, block_rows, most):
    """The positions on the list where the present block continues, where to stop, and where the block ends."""
    begin = np.int64(block) * block_rows
    first, last = begin + epoch.offset, min(begin + block_rows, epoch.active)
    return first, min(last, first + most), last


@compiled(inline="always")
def ends_epoch(epoch, count, block_is_done):
    """Advance by `count` rows of the present block; returns whether that was the end of the epoch."""
    epoch.offset += count
    if block_is_done:
        epoch.offset = 0
        epoch.block += 1
    return counted(epoch, count)


@compiled(inline="always")
def counted(epoch, count):
    """Count rows that were visited; returns whether that was the end of the epoch."""
    epoch.t += count
    epoch.visited += count
    if epoch.visited < epoch.active:
        return False
    epoch.rows, epoch.visited, epoch.block = epoch.visited, 0, 0
    return True


@compiled(inline="always")
def shuffle(order, blocks, key, draws):
    """Put the blocks' numbers in a random order (Fisher and Yates); returns the draws made so far."""
    for k in range(blocks):
        order[k] = k
    for k in range(blocks - 1, 0, -1):
        j = draw_index(key, draws, k + 1)
        draws += 1
        order[k], order[j] = order[j], order[k]
    return draws


@compiled(inline="always")
def unmarked(active, n_active):
    """Remove the marked rows from the list, which stays sorted; returns its new length."""
    kept = 0
    for k in range(n_active):
        if not active[k] & SHRUNK:
            active[kept] = active[k]
            kept += 1
    return kept

"""The draws of our solvers, in the order in which the literal pseudo-codes want them."""

from hinge.sampling import draw_index, key_of


def drawn(n, counters, seed):
    key = key_of(seed)
    return [int(draw_index(key, c, n)) for c in counters]


def pegasos_draws(solver, n, T, seed):
    k, size = solver.batch_size, solver.block_rows
    firsts = drawn(n, [2 * (c // size) for c in range(T * k)], seed)
    return [[(firsts[c] + c % size) % n for c in range(t * k, (t + 1) * k)] for t in range(T)]


def shuffled(n, counters, seed):
    """Fisher and Yates, from the end; `counters` gives the draw for each place."""
    key, order = key_of(seed), list(range(n))
    for k in range(n - 1, 0, -1):
        j = int(draw_index(key, next(counters), k + 1))
        order[k], order[j] = order[j], order[k]
    return order


def sdca_epochs(rows, n_epochs, seed):
    counters = iter(range(n_epochs * len(rows)))
    return [[rows[k] for k in shuffled(len(rows), counters, seed)] for _ in range(n_epochs)]


def sdca_blocks(n, size, seed):
    """The rows of SDCA's first epoch: neighbours in blocks of this size, which are shuffled."""
    order = shuffled(-(-n // size), iter(range(n)), seed)
    return [i for k in order for i in range(k * size, min((k + 1) * size, n))]


def perceptron_visits(n, passes, seed):
    return [i for e in range(passes) for i in shuffled(n, iter(range(e * n + n - 1, e * n, -1)), seed)]


def visits(n, T, seed):
    """Points in the order in which kernel methods visit them: shuffled afresh each pass."""
    passes = [shuffled(n, iter(range(first, first + n)), seed) for first in range(0, T, n)]
    return [i for order in passes for i in order][:T]


def batches(n, k, T, seed):
    """T batches of k points."""
    return [drawn(n, range(t * k, (t + 1) * k), seed) for t in range(T)]

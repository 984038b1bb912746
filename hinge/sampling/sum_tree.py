"""Drawing a number in proportion to its size, without a pass over all of them.

The numbers are the leaves of a flat tree: sums over blocks of 128, and over blocks of 128 such blocks. A leaf
is changed in O(1) and drawn in O(n/16384 + 256). The draw is the inverse of the cumulative sum in the order
of the leaves, so that it agrees, but for rounding, with a search through all of them.

Leaves may be of several groups, each with a scale that multiplies all its leaves.
"""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled

BLOCK = 128
"""Leaves of a block, and blocks of a block of blocks."""

_BITS = np.uint64(7)

_SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered: they are kept by vector instructions


class SumTree(NamedTuple):
    """Leaf i counts ``leaves[i] * scale[group[i]]``; `group` is empty where there is one group only.

    `fine` and `coarse` hold the sums of the leaves by block and group, without the scales.
    """

    leaves: np.ndarray
    group: np.ndarray
    scale: np.ndarray
    fine: np.ndarray
    coarse: np.ndarray


def sum_tree(leaves: np.ndarray, group: np.ndarray | None = None, groups: int = 1) -> SumTree:
    """A tree over these leaves, which it takes over."""
    group = np.zeros(0, np.uint8) if group is None else group
    blocks = -(-len(leaves) // BLOCK)
    fine, coarse = np.zeros((blocks, groups)), np.zeros((-(-blocks // BLOCK), groups))
    tree = SumTree(leaves, group, np.ones(groups), fine, coarse)
    resum(tree)
    return tree


@compiled
def resum(tree):
    """All sums anew: sums kept by differences drift."""
    for b in range(len(tree.fine)):
        lo, hi = b * BLOCK, min((b + 1) * BLOCK, len(tree.leaves))
        if len(tree.group) == 0:
            tree.fine[b, 0] = _sum(tree.leaves, lo, hi)
        else:
            tree.fine[b] = 0.0
            for i in range(lo, hi):
                tree.fine[b, tree.group[i]] += tree.leaves[i]
    resum_coarse(tree)


@compiled(fastmath=_SUMS)
def _sum(leaves, lo, hi):
    total = 0.0
    for i in range(lo, hi):
        total += leaves[i]
    return total


@compiled
def resum_coarse(tree):
    """The sums over blocks of blocks anew, from those over blocks."""
    tree.coarse[:] = 0.0
    for b in range(len(tree.fine)):
        for g in range(len(tree.scale)):
            tree.coarse[b // BLOCK, g] += tree.fine[b, g]


@compiled
def set_leaf(tree, i, g, value):
    """Leaf i, of group g, ← value, without its scale."""
    i = np.uint64(i)  # a signed index costs a wrap-around test
    b = i >> _BITS
    change = value - tree.leaves[i]
    tree.leaves[i] = value
    tree.fine[b, g] += change
    tree.coarse[b >> _BITS, g] += change


@compiled
def group_total(tree, g):
    """The sum of all leaves of a group, with its scale."""
    total = 0.0
    for k in range(len(tree.coarse)):
        total += tree.coarse[k, g]
    return total * tree.scale[g]


@compiled
def find(tree, target):
    """The first leaf at which the cumulative sum exceeds the target; never one that is zero.

    -1 where all leaves are zero.
    """
    k = 0
    while k < len(tree.coarse) - 1:
        mass = _mass(tree.coarse, k, tree.scale)
        if target < mass:
            break
        target -= mass
        k += 1
    b, end = k * BLOCK, min((k + 1) * BLOCK, len(tree.fine)) - 1
    while b < end:
        mass = _mass(tree.fine, b, tree.scale)
        if target < mass:
            break
        target -= mass
        b += 1
    last = min((b + 1) * BLOCK, len(tree.leaves))
    for i in range(b * BLOCK, last):
        leaf = tree.leaves[i] * (tree.scale[tree.group[i]] if len(tree.group) > 0 else tree.scale[0])
        if target < leaf:
            return i
        target -= leaf
    # Rounding can lead past the last leaf with a weight: take the nearest one that has some.
    for i in range(last - 1, -1, -1):
        if tree.leaves[i] > 0.0:
            return i
    for i in range(last, len(tree.leaves)):
        if tree.leaves[i] > 0.0:
            return i
    return -1


@compiled
def _mass(sums, k, scale):
    mass = 0.0
    for g in range(len(scale)):
        mass += sums[k, g] * scale[g]
    return mass

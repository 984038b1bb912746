"""Random draws as functions of a key and a counter, so that a state determines all later draws."""

from hinge.sampling.stream import draw_index, draw_unit, draw_units, key_of, pick, pick_square, stream_of
from hinge.sampling.sum_tree import SumTree, find, group_total, resum, resum_coarse, set_leaf, sum_tree

__all__ = [
    "SumTree",
    "draw_index",
    "draw_unit",
    "draw_units",
    "find",
    "group_total",
    "key_of",
    "pick",
    "pick_square",
    "resum",
    "resum_coarse",
    "set_leaf",
    "stream_of",
    "sum_tree",
]

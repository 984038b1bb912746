"""DRAWS: randomness as a value."""

from hinge.sampling.stream import draw_index, draw_unit, draw_units, key_of

__all__ = ["draw_index", "draw_unit", "draw_units", "key_of"]

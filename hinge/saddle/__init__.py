"""Functions that solve max-min problems for users, and their results."""

from hinge.saddle.front_doors import (
    Ball,
    Feasibility,
    Game,
    Guarantee,
    Interval,
    Margin,
    MaxMinResult,
    enclosing_ball,
    max_margin,
    maxmin,
    semidefinite,
    solve_game,
)
from hinge.saddle.semidefinite_program import maximize_semidefinite

__all__ = [
    "Ball",
    "Feasibility",
    "Game",
    "Guarantee",
    "Interval",
    "Margin",
    "MaxMinResult",
    "enclosing_ball",
    "max_margin",
    "maximize_semidefinite",
    "maxmin",
    "semidefinite",
    "solve_game",
]

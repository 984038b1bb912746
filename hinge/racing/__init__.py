"""Races of solvers, ours and other packages', on anybody's data."""

from hinge.racing.contestants import (
    PEERS,
    Contestant,
    Course,
    Measurement,
    Ours,
    Peer,
    all_contestants,
    default_names,
    find,
)
from hinge.racing.race import Entrant, Race, Standing, Target, run_race

__all__ = [
    "PEERS",
    "Contestant",
    "Course",
    "Entrant",
    "Measurement",
    "Ours",
    "Peer",
    "Race",
    "Standing",
    "Target",
    "all_contestants",
    "default_names",
    "find",
    "run_race",
]

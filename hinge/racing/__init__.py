"""Races of solvers, ours and other packages', on anybody's data."""

from hinge.racing.contestants import Contestant, Ours, find, known, usual
from hinge.racing.course import Course, Look
from hinge.racing.peers import PEERS, Peer
from hinge.racing.race import Entrant, Race, Standing, Target, run_race

__all__ = [
    "PEERS",
    "Contestant",
    "Course",
    "Entrant",
    "Look",
    "Ours",
    "Peer",
    "Race",
    "Standing",
    "Target",
    "find",
    "known",
    "run_race",
    "usual",
]

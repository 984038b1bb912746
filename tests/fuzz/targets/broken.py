"""Cases that fail in every way there is, for the tests of the engine."""

import os
import signal
import time

import numpy as np

WAYS = ("fine", "refused", "dies", "hangs", "indexes", "mutters", "wrong")


def case(rng):
    """One of the ways, by the number drawn."""
    way = WAYS[int(rng.integers(len(WAYS)))]
    if way == "refused":
        raise ValueError("This is a sentence that helps.")
    if way == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if way == "hangs":
        time.sleep(1000)
    if way == "indexes":
        [][1]
    if way == "mutters":
        np.zeros(3) + np.zeros(4)
    assert way != "wrong", "An answer is wrong."

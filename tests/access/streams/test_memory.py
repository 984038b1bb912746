import resource
from pathlib import Path

import numpy as np

from hinge.access.streams.memory import allowed_memory, free_memory, resident


def test_what_is_used_and_what_is_free_are_known():
    before = resident()
    held = np.ones(8 << 20)  # 64 MB
    assert resident() - before > 48 << 20
    assert free_memory() > 0 and held.all()


def test_limits_of_the_process_are_heeded():
    most = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), most[1]))
    try:
        assert free_memory() <= 64 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_AS, most)


def test_what_is_asked_for_counts():
    assert allowed_memory(5e9) == 5_000_000_000
    assert resident() < allowed_memory(None) < resident() + free_memory()

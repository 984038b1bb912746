"""The memory of this process: how much it uses, and how much more it may use."""

import os
from pathlib import Path

SHARE = 0.5
"""Fraction of the free memory that is used by default."""
UNKNOWN = 1 << 31
"""Bytes that are assumed to be free if the system does not tell."""


def free_memory() -> int:
    """Bytes that this process can still use, by the system, its container and its own limits."""
    return max(0, min([_available(), *_left_in_container(), *_left_of_limits()]))


def resident() -> int:
    """Bytes of this process that are in memory; 0 if the system does not tell."""
    fields = _fields(Path("/proc/self/status"))
    return 1024 * fields.get("VmRSS", 0)


def allowed_memory(max_memory: float | None) -> int:
    """Limit of this process's memory in bytes: `max_memory`, or its present memory plus half of what is free."""
    if max_memory is not None:
        return int(max_memory)
    return resident() + int(SHARE * free_memory())


def _available() -> int:
    fields = _fields(Path("/proc/meminfo"))
    if "MemAvailable" in fields:
        return 1024 * fields["MemAvailable"]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _left_in_container() -> list[int]:
    """What control groups, of version 2 and version 1, leave."""
    found = []
    for folder, most, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            found.append(int(Path(folder, most).read_text()) - int(Path(folder, used).read_text()))
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue
    return found


def _left_of_limits() -> list[int]:
    """What the process's limits leave of its address space and of its data segment."""
    try:
        import resource
    except ImportError:
        return []
    fields, found = _fields(Path("/proc/self/status")), []
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            found.append(soft - 1024 * fields.get(used, 0))
    return found


def _fields(path: Path) -> dict[str, int]:
    """The lines "name: number" of a file in /proc."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name: int(rest.split()[0]) for name, _, rest in pairs if rest.split() and rest.split()[0].isdecimal()}

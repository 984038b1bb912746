"""The full-scale report of the reproduction: ``python -m docs.unfold`` unpacks what the repository keeps packed.

Of `docs/reproduction.tar.xz` it makes `docs/unfolded/reproduction`, with `report.html`, its measurements as CSV and
JSON, and its figures as SVG. The build of the site does the same, and puts them beside its pages.
"""

import tarfile
from pathlib import Path

PACKED = Path(__file__).with_name("reproduction.tar.xz")
TARGET = PACKED.with_name("unfolded")


def unfold(target: Path = TARGET) -> Path:
    """The folder with the report, unpacked unless it is there already and newer."""
    report = target / "reproduction" / "report.html"
    if not report.exists() or target.stat().st_mtime < PACKED.stat().st_mtime:
        with tarfile.open(PACKED) as packed:
            packed.extractall(target, filter="data")
        target.touch()
    return report.parent


if __name__ == "__main__":
    print(unfold() / "report.html")

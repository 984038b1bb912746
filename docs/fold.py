"""Packs a report for the repository: ``python -m docs.fold FOLDER`` makes `docs/reproduction.tar.xz` of it.

What `hinge reproduce all --scale full --out FOLDER` left there goes in, without the pictures as PNG, which the page
has inside, and without the single cells, which the data has. Numbers keep seven digits: the others are noise, and
nine tenths of the size.
"""

import io
import re
import sys
import tarfile
from pathlib import Path

from docs.unfold import PACKED

NUMBER = re.compile(r"-?\d+\.\d{6,}(?:e[+-]?\d+)?")
DATA = re.compile(r'(?<=<script type="application/json">).*?(?=</script>)', re.DOTALL)
DAY = 1_794_787_200
"""The date of all files, 16 November 2026: the same report makes the same bytes."""


def shortened(text: str) -> str:
    """The same with seven digits of each number."""
    return NUMBER.sub(lambda found: f"{float(found[0]):.7g}", text)


def content_of(path: Path) -> bytes:
    """What is packed of a file: numbers of the data, and of the page's figures, are shortened."""
    if path.suffix in (".json", ".csv"):
        return shortened(path.read_text(encoding="utf-8")).encode()
    if path.name == "report.html":
        return DATA.sub(lambda found: shortened(found[0]), path.read_text(encoding="utf-8")).encode()
    return path.read_bytes()


def fold(folder: Path, packed: Path = PACKED) -> None:
    """Pack a report."""
    parts = [folder / "report.html", *sorted(folder.glob("data/*")), *sorted(folder.glob("figures/*.svg"))]
    with tarfile.open(packed, "w:xz", preset=9) as pack:
        for path in parts:
            content = content_of(path)
            entry = tarfile.TarInfo(f"reproduction/{path.relative_to(folder).as_posix()}")
            entry.size, entry.mtime = len(content), DAY
            pack.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    fold(Path(sys.argv[1]))
    print(f"{PACKED}: {PACKED.stat().st_size:,} bytes")

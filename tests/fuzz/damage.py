"""Files with damage: bytes changed, cut, doubled, and numbers in them replaced by the most awkward ones."""

import contextlib
import re
import tempfile
from pathlib import Path

NUMBERS = (0, 1, -1, 127, 128, 255, 256, 32767, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1)
DIGITS = (
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"-0",
    b"99999999999999999999",
    b"2147483647",
    b"4294967296",
    b"0.1e-320",
    b"1.5",
    b"",
    b"1" * 400,
    b"1000000",
    b"16777217",
)
PIECES = (
    b"\0",
    b"\xff" * 8,
    b"\n",
    b",",
    b":",
    b'"',
    b"#",
    b"{",
    b"]",
    b"\r\n",
    b"../../x",
    b"\xef\xbb\xbf",
    b"PK\x01\x02",
    b"null",
    b"\xc3\x28",
    b"qid:1 ",
)


def damaged(content: bytes, rng) -> bytes:
    """The content after a few random changes."""
    for _ in range(int(rng.geometric(0.7))):
        content = CHANGES[int(rng.integers(len(CHANGES)))](content, rng)
    return content


def damaged_files(files: dict, rng, spare: tuple = ()) -> dict:
    """The same for one or two files of a folder; now and then one is lost, or takes another's place."""
    files = dict(files)
    names = sorted(name for name in files if name not in spare)
    for _ in range(int(rng.integers(1, 3))):
        name = names[int(rng.integers(len(names)))]
        if rng.random() < 0.05:
            files.pop(name, None)
        elif rng.random() < 0.05:
            files[name] = files.get(names[int(rng.integers(len(names)))], b"")
        elif name in files:
            files[name] = damaged(files[name], rng)
    return files


@contextlib.contextmanager
def folder_of(files: dict):
    """A folder with these files, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield Path(folder)


def files_in(folder: Path) -> dict:
    """All files in and below a folder, by their names."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _place(content, rng):
    return int(rng.integers(len(content) + 1))


def _flip(content, rng):
    changed = bytearray(content)
    for at in rng.integers(0, max(1, len(content)), int(rng.integers(1, 4))) if content else ():
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _set(content, rng):
    changed = bytearray(content)
    if content:
        changed[int(rng.integers(len(content)))] = int(rng.integers(256))
    return bytes(changed)


def _number(content, rng):
    """A number in place of eight bytes, four or two, where numbers lie."""
    size = int(rng.choice([2, 4, 8]))
    at = _place(content, rng) // size * size
    value = NUMBERS[int(rng.integers(len(NUMBERS)))] % (1 << (8 * size))
    return content[:at] + value.to_bytes(size, "little") + content[at + size :]


def _digits(content, rng):
    """Another number in place of one that is written in digits."""
    found = list(re.finditer(rb"\d+", content))
    if not found:
        return content
    lo, hi = found[int(rng.integers(len(found)))].span()
    return content[:lo] + DIGITS[int(rng.integers(len(DIGITS)))] + content[hi:]


def _cut(content, rng):
    return content[: _place(content, rng)]


def _drop(content, rng):
    lo = _place(content, rng)
    return content[:lo] + content[lo + int(rng.integers(1, 40)) :]


def _double(content, rng):
    lo, to = _place(content, rng), _place(content, rng)
    return content[:to] + content[lo : lo + int(rng.integers(1, 200))] + content[to:]


def _insert(content, rng):
    at = _place(content, rng)
    return content[:at] + PIECES[int(rng.integers(len(PIECES)))] + content[at:]


CHANGES = _flip, _flip, _set, _number, _number, _digits, _digits, _cut, _drop, _double, _insert

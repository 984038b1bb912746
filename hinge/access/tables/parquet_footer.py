"""Where the columns of a Parquet file lie, and how many values are missing, as its footer has it.

pyarrow knows this too, but ends the process where a footer is damaged. The footer is in Thrift's compact
protocol; all of it is read as plain values, by the numbers of their fields.
"""

from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"PAR1"
DEEPEST = 32
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


class Chunk(NamedTuple):
    """A column of a row group.

    Attributes
    ----------
    begin, nbytes : int
        Where it is in the file, and how much it takes there.
    nulls : int
        Values that are missing, 0 where that is not known.
    """

    begin: int
    nbytes: int
    nulls: int


def chunks_of(path: Path) -> list[dict[str, Chunk]]:
    """Of each row group the columns by their names, those of nested ones joined by dots.

    Raises
    ------
    ValueError, LookupError, TypeError
        If there is no footer, or one that says nothing of the kind.
    """
    with path.open("rb") as stream:
        end = stream.seek(0, 2) - 8
        stream.seek(max(0, end))
        tail = stream.read()
        start = end - int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or start < 0:
            raise ValueError(f"{path} is not Parquet, or cut short: it has no footer.")
        stream.seek(start)
        footer = _struct(stream.read(end - start), 0, 0)[0]
    return [dict(_chunk(column[3]) for column in group[1]) for group in footer.get(4, [])]


def _chunk(meta: dict[int, Any]) -> tuple[str, Chunk]:
    begin = min(meta[9], meta.get(11) or meta[9])  # a dictionary comes before the data
    nulls = meta.get(12, {}).get(3, 0)
    return b".".join(meta[3]).decode(), Chunk(begin, meta[7], nulls)


def _struct(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The values of a struct by the numbers of their fields, and where it ends."""
    if depth > DEEPEST:
        raise ValueError("The footer is nested too deeply.")
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head < 16:
            number, at = _whole(content, at)
        else:
            number += head >> 4
        kind = head & 15
        if kind <= _FALSE:
            fields[number] = kind == _TRUE
        elif kind < _DOUBLE and kind != _BYTE:
            found = content[at]  # most numbers take a single byte
            if found < 128:
                fields[number], at = (found >> 1) ^ -(found & 1), at + 1
            else:
                fields[number], at = _whole(content, at)
        else:
            fields[number], at = _value(content, at, kind, depth)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of some kind, and where it ends."""
    if kind == _BINARY:
        count, at = _varint(content, at)
        if at + count > len(content):
            raise ValueError("The footer is cut short.")
        return content[at : at + count], at + count
    if kind == _STRUCT:
        return _struct(content, at, depth + 1)
    if kind in (_LIST, _SET):
        count, kind = content[at] >> 4, content[at] & 15
        at += 1
        if count == 15:
            count, at = _varint(content, at)
        items = []
        for _ in range(count):
            item, at = _value(content, at, kind, depth + 1)
            items.append(item)
        return items, at
    if kind in (_TRUE, _FALSE, _BYTE):
        return content[at], at + 1
    if kind == _DOUBLE:
        return content[at : at + 8], at + 8
    if kind < _DOUBLE:
        return _whole(content, at)
    raise ValueError(f"The footer has a value of the kind {kind}.")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while (byte := content[at]) > 127:
        found |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("The footer has a number of more than 64 bits.")
    return found | byte << shift, at + 1


def _whole(content: bytes, at: int) -> tuple[int, int]:
    """A signed number, in zigzag."""
    found, at = _varint(content, at)
    return (found >> 1) ^ -(found & 1), at

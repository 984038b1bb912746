"""Positions of the columns in a Parquet file, and numbers of missing values, from its footer.

pyarrow can read this too, but crashes the process if a footer is damaged. The footer is in Thrift's compact protocol;
all of it is parsed to plain values, by field numbers.
"""

from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"PAR1"
DEEPEST = 32
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


class Chunk(NamedTuple):
    """A column of a row group (a column chunk).

    Attributes
    ----------
    begin, nbytes : int
        Its position in the file, and its size there.
    nulls : int
        Number of missing values; 0 if not known.
    """

    begin: int
    nbytes: int
    nulls: int


def chunks_of(path: Path) -> list[dict[str, Chunk]]:
    """The columns of each row group by name; names of nested columns are joined by dots.

    Raises
    ------
    ValueError, LookupError, TypeError
        If there is no footer, or it is invalid.
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
    begin = min(meta[9], meta.get(11) or meta[9])  # a dictionary page comes before the data pages
    nulls = meta.get(12, {}).get(3, 0)
    return b".".join(meta[3]).decode(), Chunk(begin, meta[7], nulls)


def _struct(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The values of a struct by field number, and the position after it."""
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
    """A value of the given type, and the position after it."""
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
    """A signed integer in zigzag encoding, and the position after it."""
    found, at = _varint(content, at)
    return (found >> 1) ^ -(found & 1), at

"""Arrays from untrusted bytes: no code is run, and no more memory is allocated than the bytes can fill."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MOST_UNPACKED = 1000
"""Largest ratio of unpacked to packed size; real files stay below it, as zlib cannot do much better."""
LARGEST_LETTER = 0x10FFFF
READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def plain_array(content: bytes) -> NDArray[Any]:
    """The array of an .npy file given as bytes.

    Raises
    ------
    ValueError
        If it is none, holds objects, or declares another size than it has.
    """
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in READERS:
        raise ValueError(f"version {version} of the npy format is not that of plain numbers or text.")
    shape, by_columns, dtype = READERS[version](stream)
    if dtype.hasobject or dtype.names or dtype.itemsize == 0:
        raise ValueError(f"{dtype} is neither numbers nor text.")
    declared, found = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if declared != found or min(shape, default=1) < 0:
        raise ValueError(f"an array of shape {shape} has {declared} bytes, but {found} are there.")
    array = np.frombuffer(content, dtype, offset=stream.tell())
    if dtype.kind == "U" and array.size and array.view(dtype.byteorder.replace("|", "=") + "u4").max() > LARGEST_LETTER:
        raise ValueError("it holds text of letters that there are not.")
    return array.reshape(shape, order="F" if by_columns else "C").copy()


def members_of(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The contents of a zip archive of so many bytes, unless they would be vast when unpacked."""
    members = archive.infolist()
    packed, unpacked = (sum(getattr(m, name) for m in members) for name in ("compress_size", "file_size"))
    if packed > size or unpacked > MOST_UNPACKED * size:
        raise ValueError(f"its members would unpack to {unpacked} bytes from {size}.")
    return {member.filename: archive.read(member) for member in members}

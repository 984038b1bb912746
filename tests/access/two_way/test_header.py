import json

import pytest
from access.two_way.made_up import X, copied

from hinge.access.two_way.header import HEADER, PairHeader, _checksum
from hinge.access.two_way.reader import open_pair

# --- opening and closing -----------------------------------------------------------------------


def test_damaged_headers_are_refused(pairs, tmp_path):
    folder = copied(pairs, "float32", tmp_path)
    header = json.loads((folder / HEADER).read_text())

    def opened(text):
        (folder / HEADER).write_text(text)
        return open_pair(folder)

    def signed(**changes):
        body = {**header, **changes}
        body.pop("sha256")
        return json.dumps({**body, "sha256": _checksum(body)})

    assert opened(signed()).shape == X.shape
    for text in ("", "{", "[]", json.dumps(header)[:-5]):
        with pytest.raises(ValueError, match="cut short or damaged"):
            opened(text)
    with pytest.raises(ValueError, match="not the header of a pair"):
        opened('{"format": "something"}')
    with pytest.raises(ValueError, match=r"version 2 .* upgrade hinge"):
        opened(signed(version=2))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        opened(json.dumps({**header, "shape": [70, 40]}))
    vast = "[" * 10_000
    for text in (vast, "{}" + " " * (1 << 17)):
        with pytest.raises(ValueError, match=r"cut short or damaged|not the header"):
            opened(text)
    for shape in ([-40, -70], [0, 70], [40.0, 70], [True, 2800], ["40", 70], [1 << 70, 1 << 70]):
        with pytest.raises(ValueError, match=r"contradicts itself|does not describe a pair"):
            opened(signed(shape=shape))
    for changes in ({"shape": [41, 70]}, {"kind": "compressed"}, {"dtype": "float64"}):
        with pytest.raises(ValueError, match="contradicts itself"):
            opened(signed(**changes))
    for changes in ({"dtype": "int8"}, {"shape": 3}):
        with pytest.raises(ValueError, match="does not describe a pair"):
            opened(signed(**changes))


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        open_pair(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"it has no pair.json"):
        open_pair(tmp_path)


def test_where_lines_are_too_long_for_short_indices():
    header = PairHeader((3, 1 << 31), "float32", 10)
    assert header.files["rows.indices"] == 80 and header.files["columns.indices"] == 40

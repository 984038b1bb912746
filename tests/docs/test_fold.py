"""A report is packed, and unpacked as it was but for digits that say nothing."""

import pytest

from docs import fold, unfold


def test_what_is_packed_comes_back(tmp_path, monkeypatch):
    report = tmp_path / "report"
    for folder in ("data", "figures", "cells"):
        (report / folder).mkdir(parents=True)
    (report / "data" / "one.json").write_text('{"x": 0.12345678901, "y": -1.5e-09, "n": 12345678901, "t": 1.5}')
    (report / "data" / "one.csv").write_text("x\n1.23456789e-05\n")
    (report / "figures" / "one.svg").write_text('<path d="M 0.12345678901"/>')
    (report / "figures" / "one.png").write_bytes(b"a picture")
    (report / "cells" / "one.json").write_text("{}")
    page = '<p>0.12345678901</p><script type="application/json">{"x":\n[0.12345678901]}</script>'
    (report / "report.html").write_text(page)
    packed = tmp_path / "packed.tar.xz"
    fold.fold(report, packed)
    monkeypatch.setattr(unfold, "PACKED", packed)
    found = unfold.unfold(tmp_path / "unfolded")
    files = {path.relative_to(found).as_posix(): path.read_text() for path in found.rglob("*") if path.is_file()}
    assert files == {
        "report.html": page.replace("[0.12345678901]", "[0.1234568]"),
        "data/one.json": '{"x": 0.1234568, "y": -1.5e-09, "n": 12345678901, "t": 1.5}',
        "data/one.csv": "x\n1.234568e-05\n",
        "figures/one.svg": '<path d="M 0.12345678901"/>',
    }
    first = packed.read_bytes()
    fold.fold(report, packed)
    assert packed.read_bytes() == first


@pytest.mark.parametrize(
    ("text", "short"), [("-0.000012345678", "-1.234568e-05"), ("123456789.0123456", "1.234568e+08")]
)
def test_numbers_stay_numbers(text, short):
    assert fold.shortened(text) == short

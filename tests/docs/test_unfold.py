"""The packed report: small enough, whole, and unpacked once."""

from docs import unfold


def test_it_is_small_and_holds_the_report(tmp_path):
    assert unfold.PACKED.stat().st_size <= 2_000_000
    folder = unfold.unfold(tmp_path / "unfolded")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('data-verdict="') >= 60
    assert len(list((folder / "data").glob("*.json"))) >= 18
    assert (folder / "data" / "claims.csv").read_text(encoding="utf-8").count("\n") >= 188
    (folder / "report.html").write_text("changed", encoding="utf-8")
    unfold.unfold(tmp_path / "unfolded")
    assert (folder / "report.html").read_text(encoding="utf-8") == "changed"

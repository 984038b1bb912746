"""The list of data sets."""

from command_line import run, said

from hinge import datasets


def test_datasets_lists_the_catalog_one_line_each():
    out, err = said(run("datasets"))
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["name", "rows", "features"]
    assert [line.split()[0] for line in lines[1:]] == [entry.name for entry in datasets.catalog()]
    assert "bundled" in lines[1]
    assert err == ""


def test_datasets_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = said(run("datasets"))
    assert max(map(len, out.splitlines())) <= 80
    assert "income above 50,000 dollars a year" in out

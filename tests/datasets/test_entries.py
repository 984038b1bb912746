"""The catalog's entries: which there are, and what stands in for a set that is missing."""

import importlib

import pytest

from hinge.datasets import DatasetNotFoundError, catalog, load

pytestmark = pytest.mark.filterwarnings("error")


def test_catalog_lists_papers_sets_and_the_folders(no_home):
    (no_home / "mine.csv").write_text("1,2,1\n")
    (no_home / "mine.test.csv").write_text("1,2,1\n")
    (no_home / "covtype.npz").write_bytes(b"")
    (no_home / "notes.md").write_text("not data")
    entries = {entry.name: entry for entry in catalog()}
    assert {"adult", "ccat", "astro-ph", "covertype", "news20", "real-sim", "reuters", "mnist"} <= set(entries)
    assert entries["adult"].found == "bundled"
    assert entries["ccat"].found == ""
    assert entries["covertype"].found == str(no_home / "covtype.npz")
    assert entries["mine"].found == str(no_home / "mine.csv")
    assert not {"notes", "notes.md", "mine.test"} & set(entries)
    assert all(entry.task and entry.how and entry.description for entry in entries.values())
    names = [name for entry in catalog() for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))


def test_what_stands_in_for_a_missing_set_can_be_made(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"always at hand: hinge\.datasets\.make_subtle_text\(29_882"):
        load("astro-ph", home=tmp_path)
    for entry in catalog():
        if entry.stand_in:
            module, _, call = entry.stand_in.rpartition(".")
            assert callable(getattr(importlib.import_module(module), call.partition("(")[0]))

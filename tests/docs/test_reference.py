"""Every public name has a page of the reference, and an example that runs."""

import doctest
import inspect

import pytest

from docs import reference

PUBLIC = reference.public()


def test_the_parts_hold_what_people_import():
    assert {"hinge.LinearSVC", "hinge.tune", "hinge.explain.frame", "hinge.solvers.Pegasos"} <= set(PUBLIC)
    assert {"hinge.kernels.Gaussian", "hinge.dask.LinearSVC", "hinge.bounds.pegasos_gap"} <= set(PUBLIC)
    assert "hinge.selection.SVCCV" not in PUBLIC  # it is hinge.SVCCV
    assert not [name for name in PUBLIC if name.rpartition(".")[2].startswith("_")]


def test_every_public_name_has_a_page(tmp_path):
    reference.write(tmp_path)
    listed = set()
    for part in reference.PARTS:
        page = (tmp_path / f"{part.module}.rst").read_text(encoding="utf-8")
        assert part.module in (tmp_path / "index.rst").read_text(encoding="utf-8")
        listed |= {f"{part.module}.{line.strip()}" for line in page.split(":nosignatures:")[1].split()}
    assert listed == set(PUBLIC)
    before = {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()}
    reference.write(tmp_path)  # what has not changed is not written, so that Sphinx need not read it
    assert before == {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()}


def test_every_public_name_has_an_example():
    without = [name for name, thing in PUBLIC.items() if "Examples\n---" not in (inspect.getdoc(thing) or "")]
    without += [name for name, thing in PUBLIC.items() if ">>>" not in (inspect.getdoc(thing) or "")]
    assert not without


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PUBLIC))
def test_its_example_runs(name):
    needs = {"hinge.solvers.InteriorPoint": "clarabel", "hinge.export.to_onnx": "skl2onnx"}
    needs |= {"hinge.export.to_skops": "skops", "hinge.explain.frame": "pandas"}
    for package in (needs.get(name), "distributed" if name.startswith("hinge.dask.") else None):
        if package is not None:
            pytest.importorskip(package)
    if name.startswith("hinge.display."):
        pytest.importorskip("matplotlib").use("agg")
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder(exclude_empty=True).find(PUBLIC[name], name.rpartition(".")[2], globs={}):
        runner.run(example, out=report.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(report)

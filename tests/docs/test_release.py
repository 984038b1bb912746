"""What a release says of itself agrees with the package."""

import re
import tomllib

import pytest
from docs_snippets import ROOT

from hinge.version import __version__


@pytest.mark.parametrize("file", ["CITATION.cff", "conda/meta.yaml", "CHANGELOG.md"])
def test_one_version_in_all_files(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"(version: |version = |## )\"?{re.escape(__version__)}\b", text)


def test_all_is_all_extras_but_those_of_developers():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (together,) = extras["all"]
    assert {"cli", "gpu", "arrow", "zarr", "dask", "plot", "report", "onnx", "docs", "test"} <= set(extras)
    assert set(together.removeprefix("hinge[").removesuffix("]").split(",")) == set(extras) - {
        *("all", "docs", "gpu", "test")
    }


def test_the_recipe_needs_what_the_package_needs():
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    for need in needs:
        name, versions = re.fullmatch(r"([a-z-]+)(>=[\d.,<]+)", need).groups()
        assert f"- {name} {versions}\n" in recipe

"""How Sphinx builds the site; `python -m docs.build` runs it."""

import logging
import os
import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils.parsers.rst.states import Inliner
from sphinx.util.fileutil import copy_asset
from sphinx_gallery.sorting import FileNameSortKey

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

# One thread for each example, and Numba's cache where the caller has put it: pages come out the same everywhere.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from docs import outputs, read, reference, unfold  # noqa: E402
from hinge.version import __version__  # noqa: E402

reference.write(HERE / "api")
read.write(HERE / "papers" / "read.md")
unfold.unfold()

project = "hinge"
author = "The hinge developers"
copyright = "The hinge developers"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["unfolded", "races/*", "_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "py:obj"  # a name in single backticks is a link where there is such a name

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which are not pickled

# Types are in the docstrings: array-likes, spelled out in a signature, fill a screen.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

toc_object_entries_show_parents = "hide"
html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = f"hinge {version}"
html_static_path = ["_static"]
html_extra_path = ["unfolded"]
html_css_files = ["site.css"]
html_favicon = "_static/hinge.svg"
html_show_sourcelink = False
html_copy_source = False
mathjax_path = "mathjax/tex-chtml.js"  # beside the pages, so that formulas need no network: see `_copy_mathjax`
html_theme_options: dict[str, Any] = {
    "collapse_navigation": True,  # of two hundred names of the reference, every page would have a list
    "navigation_depth": 2,
    "logo": {"text": "hinge", "image_light": "_static/hinge.svg", "image_dark": "_static/hinge.svg"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"faq": [], "index": [], "start": [], "which_solver": []}  # pages without others below or beside them


def _first_plot(gallery_conf: dict[str, Any], fname: str | None) -> None:
    """Every example begins with matplotlib's defaults, and with random numbers that do not depend on the others."""
    import matplotlib
    import numpy as np

    matplotlib.rcParams.update({"figure.dpi": 100, "savefig.bbox": "tight", "font.size": 10.5})
    matplotlib.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "figure.autolayout": False})
    logging.getLogger("hinge").setLevel("ERROR")  # that it compiles says nothing to readers
    np.random.seed(0)  # noqa: NPY002 - it is that generator which examples may share


class _StarterFirst(FileNameSortKey):
    """The order of the gallery: the example to begin with, then the others by the names of their files."""

    def __call__(self, filename: str) -> tuple[bool, str]:
        return filename != "plot_first_fit.py", super().__call__(filename)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": _StarterFirst,
    "thumbnail_size": (560, 380),
    "reset_modules": ("matplotlib", _first_plot),
    "abort_on_example_error": False,  # a failing example is a warning, and warnings are errors
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "plot_gallery": True,
    "reference_url": {"hinge": None},
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("hinge",),
    "inspect_global_variables": False,
    "capture_repr": (),
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive", category=UserWarning)


def _is_ours(_: Any, what: str, name: str, thing: Any, skip: bool, __: Any) -> bool | None:
    """Leave out what is inherited from scikit-learn and NumPy, and fields, which the docstring lists."""
    if what not in ("class", "exception") or skip:
        return None
    bare = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
    module = getattr(bare, "__module__", None) or ""
    ours = module.split(".")[0] == "hinge" and callable(bare) and bool(getattr(bare, "__doc__", None))
    return None if ours and not name.startswith("_") else True


def _a_bar_is_a_bar(_: Inliner, match: re.Match[str], __: int) -> tuple[str, list[Any], str, list[Any]]:
    """In our docstrings |x| is a size, and never the name of a substitution."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


def _copy_mathjax(app: Any, failure: Exception | None) -> None:
    """Put MathJax beside the pages: of all that its package has, what sets formulas written in TeX."""
    if failure is None:
        package = find_spec("sphinx-mathjax-offline")
        assert package is not None and package.origin is not None
        source, target = Path(package.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
        for part in ("tex-chtml.js", "output/chtml/fonts"):
            copy_asset(source / part, (target / part).parent if part.endswith(".js") else target / part)


def _with_outputs(app: Any, page: str, content: list[str]) -> None:
    """Run the Python of a page, and show below each block what it prints; one page only quotes the package."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".md" and page != outputs.QUOTING and outputs.FENCE.search(content[0]):
        content[0] = outputs.with_outputs(content[0], page)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _with_outputs)
    app.connect("build-finished", _copy_mathjax)
    Inliner.dispatch["|"] = _a_bar_is_a_bar
    app.connect("autodoc-skip-member", _is_ours)

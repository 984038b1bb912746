"""The shape of the project: who may import whom, and what solvers may touch."""

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import hinge

PACKAGE = Path(hinge.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
SOLVER_FILES = sorted((PACKAGE / "solvers").rglob("*.py"))

# What each part may import of the others: what → data → draws → how → clients. Data has no parents.
# All may import `types`, which has no code, and `constraints` and `column_table`, which need nothing.
MAY_IMPORT = {
    "types": set(),
    "column_table": set(),
    "constraints": set(),
    "compiled": {"machine_code"},
    "machine_code": {"version"},
    "version": set(),
    "threads": {"compiled"},
    "files.replacing": set(),
    "kernels": {"compiled"},
    "access": {"compiled", "kernels", "datasets", "files.replacing", "threads"},
    "problems": {"access", "compiled", "kernels", "sampling", "threads"},
    "sampling": {"compiled"},
    "monitoring": {"compiled", "files.replacing"},
    "calibration": {"access", "compiled"},
    "solvers": {"calibration", "compiled", "kernels", "access", "problems", "sampling", "monitoring", "threads"},
    "prediction": {"access"},
    "datasets": set(),
}
BELOW = {"calibration", "kernels", "access", "prediction", "problems", "sampling", "monitoring", "solvers"}
MAY_IMPORT["estimators"] = BELOW | {"threads"}
PARTS = BELOW | {"estimators", "datasets"}
MAY_IMPORT |= {  # clients, which see all of the above
    "saddle": {"compiled", "access", "problems", "monitoring", "solvers"},
    "selection": PARTS | {"threads"},
    "files": PARTS | {"files.replacing", "version"},
    "export": {"estimators", "kernels", "files.replacing"},
    "display": PARTS | {"files.replacing"},
    "explain": PARTS,
    "accel": {"estimators"},
    "warming": {"compiled", "estimators"},
    "dask": PARTS | {"compiled", "threads"},
    # the laboratory
    "bounds": set(),
    "report": {"display", "files.replacing", "version"},
    "experiments": PARTS | {"bounds", "saddle", "display", "report", "files.replacing"},
    "racing": PARTS | {"display", "report", "experiments", "files.replacing"},
    "cli": PARTS
    | {"compiled", "explain", "export", "selection", "files", "files.replacing", "version", "report", "display"}
    | {"experiments", "racing", "warming"},
}

LABORATORY = {"experiments", "racing", "report", "bounds"}
"""What measures the library: it imports the rest, and could leave without a trace but for two commands."""


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module):
    """The folder that a module lies in, or the module itself where it is a part of its own."""
    names = module.split(".")[1:3]
    return ".".join(names) if ".".join(names) in MAY_IMPORT else "".join(names[:1])


def files_of(part):
    return [path for path in SOURCES if part_of(name_of(path)) == part]


MODULES = {name_of(path): path for path in SOURCES}


@cache
def tree_of(path):
    return ast.parse(path.read_text(), str(path))


@cache
def imports_of(path):
    """All modules that a file imports anywhere, as full names."""
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, base] if base else parent)
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= names & MODULES.keys()
            if base == "hinge" or not names <= MODULES.keys():
                found.add(base)
    return found


TESTS = Path(__file__).resolve().parent

EXCEPTIONS = {
    "__main__": "three lines, run from a shell by cli/test_app.py",
    "access.gram.fused": "runs on a GPU only: access/gram/test_device.py compares it there",
    "cli.options": "constants",
    "solvers.newton.fused_sums": "runs on a GPU only: solvers/newton/test_device_sums.py compares it there",
    "types": "names of types, which mypy checks",
}
"""Files that no test file of their own name mirrors, with the reason."""


def defines(path):
    """Whether a file has functions or classes of its own, rather than names of others."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree_of(path).body)


def mirror_of(path):
    """Where the tests of a file are; those of a package's own functions have its name."""
    place = path.relative_to(PACKAGE)
    name = place.parent.name or "hinge" if path.stem == "__init__" else path.stem
    return TESTS / place.parent / f"test_{name}.py"


def test_every_file_has_a_test_file_of_its_own_name():
    lacking = {
        name_of(path).removeprefix("hinge").removeprefix(".")
        for path in SOURCES
        if not mirror_of(path).exists() and (path.name != "__init__.py" or defines(path))
    }
    assert lacking == set(EXCEPTIONS)
    assert all(EXCEPTIONS.values())


def test_no_test_file_is_named_after_a_file_that_is_gone():
    """Where a folder is mirrored, a test file that mirrors nothing says at its top what it is about."""
    lost = []
    for path in sorted(TESTS.rglob("test_*.py")):
        place = path.relative_to(TESTS)
        name = path.stem.removeprefix("test_")
        there = (PACKAGE / place.parent / f"{name}.py", PACKAGE / place.parent.parent / name / "__init__.py")
        if (PACKAGE / place.parent).is_dir() and not any(source.exists() for source in there):
            lost += [] if ast.get_docstring(tree_of(path)) else [str(place)]
    assert not lost


@pytest.mark.slow
@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_point_one_way(part):
    assert files_of(part)
    found = {
        (name_of(path), module)
        for path in files_of(part)
        for module in imports_of(path)
        if module.startswith("hinge.")
        and part_of(module) not in MAY_IMPORT[part] | {part, "types", "column_table", "constraints"}
    }
    assert not found


@pytest.mark.slow
def test_nothing_needs_the_laboratory_but_the_command_line():
    found = {
        (name_of(path), module)
        for path in SOURCES
        if part_of(name_of(path)) not in LABORATORY | {"cli"}
        for module in imports_of(path)
        if module.startswith("hinge.") and part_of(module) in LABORATORY
    }
    assert not found


@pytest.mark.slow
def test_parts_do_not_import_the_package_itself():
    # `from hinge import …` would go through the public names, and round in a circle.
    found = {name_of(p) for p in SOURCES if p.parent != PACKAGE for m in imports_of(p) if m == "hinge"}
    assert not found


def test_every_part_has_its_place():
    parts = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert parts == {part.partition(".")[0] for part in MAY_IMPORT} - {
        "accel",
        "bounds",
        "column_table",
        "compiled",
        "constraints",
        "explain",
        "machine_code",
        "prediction",
        "threads",
        "version",
        "types",
        "warming",
    }


@pytest.mark.slow
def test_no_import_circles():
    """No file needs itself, by way of whatever its functions import; names of types count too."""
    needs = {name: {m for m in imports_of(path) if m in MODULES} - {name} for name, path in MODULES.items()}
    while free := {name for name, others in needs.items() if not others & set(needs)}:
        needs = {name: others for name, others in needs.items() if name not in free}
    left = {name: sorted(others & set(needs)) for name, others in needs.items()}
    assert not left  # circles, and what leads into them


@pytest.mark.slow
@pytest.mark.parametrize("path", SOLVER_FILES, ids=lambda path: path.stem)
def test_solvers_touch_no_data_no_clock_and_no_files(path):
    """Data only by the verbs of `hinge.access`; the clock is the driver's and the measuring loop's."""
    forbidden_modules = {"io", "os", "pathlib", "tempfile", "pickle", "shutil", "sys", "logging"}
    if path.stem not in ("driver", "tracing"):
        forbidden_modules |= {"time", "signal", "threading", "datetime"}
    touched = {m for m in imports_of(path) if m.split(".")[0] in forbidden_modules}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and node.attr in ("X", "data", "indices", "indptr"):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"  # a setting of the solver
            touched |= set() if own else {f"{ast.unparse(node)}, line {node.lineno}"}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            touched |= {node.func.id} & {"print", "open", "input", "exec", "eval"}
    assert not touched


@pytest.mark.slow
def test_only_the_driver_and_the_measuring_loop_advance_solvers():
    """Clients run solvers by `solve` or look at them by `trace`: no other loop keeps a clock and a bill."""
    found = {
        f"{name_of(path)}, line {node.lineno}"
        for path in set(SOURCES) - set(SOLVER_FILES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "advance" and len(node.args) == 3
    }
    assert not found


def by_position(tree):
    """Numbers of a state that are addressed by their place in an array, instead of by name."""
    arrays = {"scalars", "counters", "bounds"}
    places = {  # names like those of ``LOWER, UPPER = range(2)``
        element.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("range(")
        for target in node.targets
        for element in getattr(target, "elts", [])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in arrays:
            yield f"{ast.unparse(node)}, line {node.lineno}"
        if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Tuple):
            continue
        whose, what = ast.unparse(node.value), ast.unparse(node.slice)
        if (
            whose.rpartition(".")[2] in arrays
            or what in places
            or whose == "state"  # fields of the state itself
            or (whose in ("s", "c", "state.s") and (what.isdigit() or what.isupper()))
        ):
            yield f"{ast.unparse(node)}, line {node.lineno}"


@pytest.mark.parametrize("path", SOLVER_FILES, ids=lambda path: path.stem)
def test_states_have_names(path):
    assert not list(by_position(tree_of(path)))


@pytest.mark.parametrize(
    "code",
    [
        "LOWER, UPPER = range(2)\nwidth = state.lines[UPPER]",
        "state.scalars[0]",
        "lower, upper = self.bounds[:2]",
        "c[DONE] += 1",
        "x = state[0]",
        "class S(NamedTuple):\n    counters: np.ndarray",
    ],
)
def test_a_number_without_a_name_is_found(code):
    assert list(by_position(ast.parse(code)))


def is_compiled(function):
    """Whether a function is decorated with ``@compiled``, with or without options."""
    names = {ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list}
    return "compiled" in names


def functions_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@cache
def compiled_functions():
    return [function for path in SOURCES for function in functions_of(tree_of(path)) if is_compiled(function)]


MOST_UNTYPED = 110
"""Parameters of functions that are annotated `Any`: those that are handed on, or may be anything. Not to grow."""


def untyped(tree):
    """Parameters that are annotated `Any`, where a type would say more."""
    for function in functions_of(tree):
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for one in named:
            if one is not None and one.annotation is not None and ast.unparse(one.annotation) == "Any":
                yield f"{function.name}({one.arg})"


@pytest.mark.slow
def test_few_parameters_are_of_any_type():
    assert list(untyped(ast.parse("def f(a: int, *b: Any, c: Any = 0, **d): ..."))) == ["f(c)", "f(b)"]
    found = [f"{name_of(path)}.{one}" for path in SOURCES for one in untyped(tree_of(path))]
    assert len(found) <= MOST_UNTYPED, "\n".join(found)


@pytest.mark.slow
def test_no_compiled_function_is_longer_than_a_page():
    found = compiled_functions()
    lines = {function.name: function.end_lineno - function.lineno + 1 for function in found}
    assert len(found) > 100
    assert not {name: count for name, count in lines.items() if count > 60}


def test_no_compiled_function_has_defaults():
    """Numba would compile one function where a value is given, and another where it is left out."""
    assert not {f.name for f in compiled_functions() if f.args.defaults or f.args.kw_defaults}


@pytest.mark.slow
def test_no_compiled_function_assigns_an_array_to_a_slice():
    """Numba would compile, for seconds, the sentence that it raises where shapes differ: loops do without."""

    def is_slice(target):
        return isinstance(target, ast.Subscript) and any(isinstance(n, ast.Slice) for n in ast.walk(target.slice))

    def is_copy(node):
        if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant | ast.Attribute):
            return False
        return any(map(is_slice, node.targets))

    assert not {f.name for f in compiled_functions() if any(map(is_copy, ast.walk(f)))}


def test_no_solver_has_many_methods():
    """Settings and what needs them; pieces of an algorithm that use no setting are functions beside the class."""
    classes = {
        node.name: sum(isinstance(part, ast.FunctionDef) for part in node.body)
        for path in SOLVER_FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    }
    assert {"Frugal", "SDCA", "BlockDual", "_Run"} <= set(classes)
    # The driver's run is no solver, and has a method for each thing that `solve` does; not to grow.
    assert not {name: count for name, count in classes.items() if count > (20 if name == "_Run" else 12)}


def test_no_drawer_for_odds_and_ends():
    assert not {path.stem for path in SOURCES} & {"utils", "common", "misc", "helpers"}
    assert not {path.parent.name for path in SOURCES} & {"utils", "common", "misc", "helpers"}


@pytest.mark.slow
def test_nothing_prints_but_the_command_line():
    printing = {
        f"{name_of(path)}:{node.lineno}"
        for path in SOURCES
        if part_of(name_of(path)) != "cli" and path.name != "__main__.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert not printing


OPTIONAL = {
    "hinge.access.gram.fused": "triton",
    "hinge.solvers.newton.fused_sums": "triton",
    **{
        f"hinge.dask.{name}": "distributed"
        for name in ("cluster", "landmarks", "linear", "machine", "parts", "rounds", "svc")
    },
}


def modules():
    for info in pkgutil.walk_packages([str(PACKAGE)], "hinge."):
        missing = info.name in OPTIONAL and importlib.util.find_spec(OPTIONAL[info.name]) is None
        if info.name != "hinge.__main__" and not missing:
            yield importlib.import_module(info.name)


def test_everything_public_is_documented():
    bare = {module.__name__ for module in modules() if not module.__doc__}
    for module in modules():
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
                continue
            if not (inspect.isclass(thing) or inspect.isroutine(thing)):
                continue
            if not inspect.getdoc(thing):
                bare.add(f"{module.__name__}.{name}")
            if inspect.isclass(thing):
                own_doc = thing.__doc__ or ""
                if own_doc.startswith(f"{name}("):  # what dataclass writes by itself
                    bare.add(f"{module.__name__}.{name}")
                for attribute, member in vars(thing).items():
                    function = getattr(member, "__func__", member)
                    if attribute.startswith("_") or not (
                        inspect.isfunction(function) or isinstance(function, property)
                    ):
                        continue
                    # An override is documented by what it overrides.
                    if not inspect.getdoc(getattr(thing, attribute)):
                        bare.add(f"{module.__name__}.{name}.{attribute}")
    assert not bare


@pytest.mark.slow
def test_reading_data_needs_no_compiler():
    code = "import sys, hinge.datasets; print([m for m in ('numba', 'hinge.solvers') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_no_compiled_code_is_tracked():
    root = PACKAGE.parent
    if not (root / ".git").exists():
        pytest.skip("not a checkout: nothing is tracked")
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert not [path for path in tracked.splitlines() if "__pycache__" in path]


def test_a_solver_is_nine_methods():
    from hinge.solvers.base import Solver

    methods = {name for name, value in vars(Solver).items() if inspect.isfunction(value) and name[0] != "_"}
    assert methods == {"init", "restart", "advance", "solution", "rejects", "cost", "pause", "estimate", "refresh"}

#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.4"]
# ///
"""What CI does, in parts: ``nox`` runs the quick tests and the checks, ``nox -l`` lists all sessions."""

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST = ["numpy==2.0.*", "scipy==1.13.*", "scikit-learn==1.6.*", "numba==0.61.*"]


@nox.session
def quick(session: nox.Session) -> None:
    """The quick tests of every module."""
    session.install("-e", ".[test,cli]")
    session.run("pytest", "-q", "-n", "2", "-m", "not slow", *session.posargs)


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """All tests, with each version of Python."""
    session.install("-e", ".[test,cli]")
    session.run("pytest", "-q", "-n", "2", *session.posargs)


@nox.session(python="3.11", default=False)
def oldest(session: nox.Session) -> None:
    """The quick tests with the oldest versions of the dependencies that are supported."""
    session.install("-e", ".[test,cli]", *OLDEST)
    session.run("pytest", "-q", "-n", "2", "-m", "not slow", *session.posargs)


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """The quick tests with tomorrow's NumPy, SciPy and scikit-learn, from the index in PIP_EXTRA_INDEX_URL."""
    session.install("-e", ".[test,cli]")
    session.install("--pre", "--upgrade", "numpy", "scipy", "scikit-learn")
    session.run("pytest", "-q", "-n", "2", "-m", "not slow", "-W", "default", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, rules, and types."""
    session.install("-e", ".[test,cli]")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """The share of the core's lines that tests run; compiled functions cannot be seen, and are left out."""
    session.install("-e", ".[test,cli]", "pytest-cov>=6", "coverage>=7.10")
    session.run("pytest", "-q", "-n", "2", "--cov", "--cov-report=term:skip-covered", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The site, with every example executed."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "docs.build", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """The wheel and the source distribution, in dist/."""
    session.install("build", "twine")
    session.run("python", "-m", "build")
    session.run("twine", "check", "--strict", *sorted(map(str, session.posargs or _built())))


def _built() -> list[str]:
    from pathlib import Path

    return [str(path) for path in Path("dist").glob("hinge-*")]


@nox.session(venv_backend="none", default=False)
def everything(session: nox.Session) -> None:
    """CI as a whole, from nothing."""
    session.run("bash", ".ci/run", external=True)


if __name__ == "__main__":
    nox.main()

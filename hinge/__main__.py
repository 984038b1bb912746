"""``hinge`` and ``python -m hinge`` are the command line."""

import sys


def main() -> None:
    """Run it; Ctrl-C may come before all of it is imported."""
    if sys.argv[1:] == ["--version"]:  # which needs none of the packages that a command line does
        from hinge.version import __version__

        print(f"hinge {__version__}")
        return
    try:
        from hinge.cli.app import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    main()

"""The command line, ``hinge`` or ``python -m hinge``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C may come while it is imported."""
    if sys.argv[1:] == ["--version"]:  # needs none of the command line's packages
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

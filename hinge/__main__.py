"""``hinge`` and ``python -m hinge`` are the command line."""


def main() -> None:
    """Run it; Ctrl-C may come before all of it is imported."""
    try:
        from hinge.cli.app import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    main()

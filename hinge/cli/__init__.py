"""The command line, one file a command; `hinge.cli.app` puts them together."""

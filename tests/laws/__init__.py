"""The laws of every solver: `cases` says on what, `contract` how a solver is asked, `test_laws` what."""

"""The largest smallest of several functions: margins, games, balls, semidefinite programs."""

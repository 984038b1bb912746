"""What several commands take."""

from enum import Enum

DEFAULT_LAM = 1e-4
Format = Enum("Format", {"table": "table", "json": "json"})

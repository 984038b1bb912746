"""How points are stored, and how a tile of their kernel values is filled."""

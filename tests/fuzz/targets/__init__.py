"""One file for each kind of hostile input."""

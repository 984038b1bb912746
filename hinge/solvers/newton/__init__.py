"""Newton's method on smoothed losses, in memory, by passes and on a GPU."""

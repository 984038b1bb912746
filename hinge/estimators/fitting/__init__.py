"""From a fit to its runs and back: tasks, weights, runs, fitted attributes."""

"""HOW: one algorithm a file, and the driver that runs them."""

"""The choice of a solver: costs, and switches between two of them."""

"""Probabilities from one fit: leave-one-out decision values of the training rows, and functions fitted to them."""

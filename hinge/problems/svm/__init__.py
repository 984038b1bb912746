"""Support vector machines: regularised, norm- and slack-constrained, with kernels, of one class."""

"""A matrix on disk by rows and by columns: written out of core, read by the page."""

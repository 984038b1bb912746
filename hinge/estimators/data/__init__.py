"""The data that estimators accept: arrays, frames, kernel matrices, streams and tables."""

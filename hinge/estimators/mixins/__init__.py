"""What fitted estimators can do besides predicting."""

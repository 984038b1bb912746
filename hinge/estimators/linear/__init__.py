"""Linear estimators, one file a class, and their base."""

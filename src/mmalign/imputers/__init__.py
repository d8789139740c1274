"""One file per imputer, one contract."""

"""A trained run behind HTTP: it answers for whatever modalities a request brings."""

"""The run directory: identity, checkpoint, artifact, result, resume."""

"""Who does a grid's jobs: processes of this machine, or the workers of a Ray cluster."""

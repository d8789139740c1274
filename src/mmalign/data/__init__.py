"""Clips, datasets, readers, missingness and batches."""

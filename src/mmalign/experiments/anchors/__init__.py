"""Anchors: what a user would pick instead, trained for each subset of modalities alone."""

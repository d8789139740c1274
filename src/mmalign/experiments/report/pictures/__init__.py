"""Figures of a report, one file a kind, each drawn for light and for dark pages."""

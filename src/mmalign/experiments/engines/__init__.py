"""Engines do jobs of a grid or search: this process, others on this machine, or Ray."""

"""Denoising training, run directories, checkpoints."""

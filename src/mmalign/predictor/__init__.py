"""What predicts: a model, its scales, and its answers on a split."""

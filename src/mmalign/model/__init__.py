"""The backbone: encoder, fusion, head."""

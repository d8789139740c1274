"""Models as ONNX files, which run without mmalign."""

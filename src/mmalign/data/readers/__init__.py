"""One reader per file format; `read` tells them apart by content."""

from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.reading import read

__all__ = ["ReadOptions", "read"]

"""The native format: a directory of Parquet files that any data tool reads.

One row a clip: `id`, `label`, one nullable column per modality (list of fixed-size float32
lists), optional `words`, `times` and `group` (the person or video). Null means missing. A modality
with steps missing inside sequences holds NaN there, and beside it stands `<modality>_observed`, a
list of booleans; a file with gaps says format 2, all others format 1. The schema metadata key
`mmalign` holds task, dims and notes; and, tied to the ids it was written for, the length of every
sequence, which lets a reader map the features into memory instead of decoding them.
"""

from mmalign.data.native.layout import is_native
from mmalign.data.native.reader import read_native
from mmalign.data.native.writer import write_native

__all__ = ["is_native", "read_native", "write_native"]

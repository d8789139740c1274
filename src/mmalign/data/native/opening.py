"""Open a Parquet file whose cost was checked."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mmalign.data.native.cost import check_cost


def open_parquet(data: memoryview, **options: Any) -> pq.ParquetFile:
    """The file in a buffer, if decoding it takes no more memory than its size allows.

    Raises:
        DataError: If it takes more, or is damaged.
        ArrowException: If it is damaged in another way.
    """
    check_cost(data)
    return pq.ParquetFile(pa.BufferReader(pa.py_buffer(data)), **options)

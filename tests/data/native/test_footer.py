"""The footer of a Parquet file, with pyarrow as oracle."""

import mmap
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from mmalign.data import synthetic_twin, write_native
from mmalign.data.native import writer
from mmalign.data.native.footer import read_row_groups
from mmalign.data.native.pages import plain_start
from mmalign.data.twin import TwinConfig


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "ROW_GROUP_BYTES", 10_000)
    write_native(synthetic_twin(TwinConfig(clips=(20, 2, 2))).dataset, tmp_path / "native")
    return tmp_path / "native" / "train-00000.parquet"


def mapped(file):
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def test_groups_and_chunks_are_what_pyarrow_tells(file):
    metadata = pq.ParquetFile(file).metadata
    groups = read_row_groups(mapped(file))
    assert len(groups) == metadata.num_row_groups > 1
    for index, group in enumerate(groups):
        expected = metadata.row_group(index)
        assert group.rows == expected.num_rows
        for number in range(expected.num_columns):
            column = expected.column(number)
            chunk, levels = group.chunks[column.path_in_schema.split(".")[0]]
            assert (chunk.start, chunk.size) == (
                column.data_page_offset,
                column.total_compressed_size,
            )
            assert levels == column.num_values
            assert not chunk.is_packed
            assert chunk.has_dictionary == column.has_dictionary_page


def test_a_damaged_footer_is_none(file, tmp_path):
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    for at in range(len(content) - 8 - length, len(content), 1 + length // 50):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        other = tmp_path / "other"
        other.write_bytes(damaged)
        groups = read_row_groups(mapped(other))
        assert groups is None or all(group.rows >= 0 for group in groups)
        other.unlink()


@pytest.mark.parametrize(
    "content", [b"PAR1", b"\xff\xff\xff\x7fPAR1", bytes(12) + b"PAR1", b"x" * 20]
)
def test_what_is_no_footer_is_none(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert read_row_groups(mapped(tmp_path / "x")) is None


def test_values_begin_where_pyarrow_reads_them_and_end_in_the_file(file):
    content = mapped(file)
    chunk, levels = read_row_groups(content)[0].chunks["visible"]
    first = plain_start(content, chunk, levels)
    table = pq.ParquetFile(file).read_row_group(0, columns=["visible"])
    values = table.column("visible").combine_chunks().flatten().flatten()
    assert content[first : first + 4 * levels] == values.to_numpy().tobytes()
    assert plain_start(content, chunk, levels - 1) is None
    assert plain_start(content, replace(chunk, size=len(content)), levels) is None

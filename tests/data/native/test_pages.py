"""Pages of a Parquet file, with pyarrow as oracle."""

import mmap

import numpy as np
import pyarrow.parquet as pq
import pytest

from mmalign.data import synthetic_twin, write_native
from mmalign.data.columns import StoredColumn
from mmalign.data.native import read_native, writer
from mmalign.data.native.pages import Page, read_page, start_of_values
from mmalign.data.twin import TwinConfig
from mmalign.errors import DataError
from tests.data.datasets import assert_same_dataset

MODALITIES = ("visible", "victim")


@pytest.fixture
def dataset():
    return synthetic_twin(TwinConfig(clips=(20, 2, 2))).dataset


@pytest.fixture
def file(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "ROW_GROUP_BYTES", 10_000)
    write_native(dataset, tmp_path / "native")
    return tmp_path / "native" / "train-00000.parquet"


def mapped(file):
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def test_pages_lie_where_pyarrow_says_one_after_the_other(file):
    metadata = pq.ParquetFile(file).metadata
    content = mapped(file)
    at = 4
    assert metadata.num_row_groups > 1
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for number in range(group.num_columns):
            column = group.column(number)
            page = read_page(content, at)
            assert at == column.data_page_offset
            assert page.stop == at + column.total_compressed_size
            assert page.entries == column.num_values
            at = page.stop


def test_values_begin_where_pyarrow_reads_them_and_end_in_the_file(file):
    content = mapped(file)
    column = pq.ParquetFile(file).metadata.row_group(0).column(2)
    assert column.path_in_schema.startswith("visible")
    page = read_page(content, column.data_page_offset)
    first = start_of_values(content, page, page.entries)
    table = pq.ParquetFile(file).read_row_group(0, columns=["visible"])
    values = table.column("visible").combine_chunks().flatten().flatten()
    assert content[first : first + 4 * page.entries] == values.to_numpy().tobytes()
    with pytest.raises(ValueError, match="not what its header says"):
        start_of_values(content, page, page.entries - 1)
    with pytest.raises(ValueError, match="not what its header says"):
        start_of_values(content, Page(page.entries, page.start, len(content)), page.entries)


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1",
        b"\x15",
        b"\xff" * 40,
        b"\x15" + b"\x80" * 20,
        b"\x1c" * 40,
        b"\x00" * 20,
        b"\x15\x00\x15~\x15~,\x15\x02\x15\x00\x00\x00",
        b"\x18\x08" + b"x" * 20,
    ],
)
def test_what_is_no_page_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises((ValueError, LookupError, TypeError)):
        read_page(mapped(tmp_path / "x"), 0)


def test_damage_between_the_values_is_refused_or_harmless(dataset, file):
    """Whatever byte of headers, levels or footer is damaged, nothing is read at a wrong place."""
    content = file.read_bytes()
    values = np.zeros(len(content), dtype=bool)
    for column in read_native(file.parent).splits["train"].sequences.values():
        assert isinstance(column, StoredColumn)
        for start, length in zip(column._starts, column.lengths, strict=True):
            values[start : start + 4 * length * column.dim] = True
    for at in np.flatnonzero(~values)[::29]:
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        file.write_bytes(damaged)
        try:
            back = read_native(file.parent)
        except DataError:
            continue
        for modality in MODALITIES:
            pairs = zip(back.splits["train"].sequences[modality], dataset["train"], strict=True)
            for steps, clip in pairs:
                assert np.array_equal(steps, clip.sequences[modality])
    file.write_bytes(content)
    assert_same_dataset(dataset, read_native(file.parent))

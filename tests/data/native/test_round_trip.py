"""Native format: what is written is what is read, to the bit."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import batches, load_dataset, write_native
from mmalign.data.columns import StoredColumn
from mmalign.data.native import read_native, writer
from mmalign.data.native.layout import METADATA_KEY
from mmalign.errors import DataError, MMAlignError
from tests.data.datasets import assert_same_dataset, datasets, small_dataset


@settings(max_examples=60)
@given(datasets())
def test_a_written_dataset_is_read_back_to_the_bit(tmp_path_factory, dataset):
    path = tmp_path_factory.mktemp("native") / "data"
    write_native(dataset, path)
    back = read_native(path)
    assert_same_dataset(dataset, back)
    assert back.is_finite


@settings(max_examples=30)
@given(datasets())
def test_several_row_groups_are_mapped_like_one(tmp_path_factory, dataset):
    path = tmp_path_factory.mktemp("native") / "data"
    original, writer.ROW_GROUP_BYTES = writer.ROW_GROUP_BYTES, 40
    try:
        write_native(dataset, path)
    finally:
        writer.ROW_GROUP_BYTES = original
    back = read_native(path)
    assert_same_dataset(dataset, back)
    assert back.is_finite


@settings(max_examples=20)
@given(datasets(), st.sampled_from([40, 1 << 26]))
def test_batches_from_the_file_are_those_from_memory(tmp_path_factory, dataset, group_bytes):
    path = tmp_path_factory.mktemp("native") / "data"
    original, writer.ROW_GROUP_BYTES = writer.ROW_GROUP_BYTES, group_bytes
    try:
        write_native(dataset, path)
    finally:
        writer.ROW_GROUP_BYTES = original
    back = read_native(path)
    for name, split in back.splits.items():
        assert all(isinstance(column, StoredColumn) for column in split.sequences.values())
        pairs = zip(
            batches(dataset, name, batch_size=3).epoch(1),
            batches(back, name, batch_size=3).epoch(1),
            strict=True,
        )
        for expected, batch in pairs:
            assert batch.ids == expected.ids
            for modality, features in expected.features.items():
                assert np.array_equal(batch.features[modality], features)
                assert np.array_equal(batch.lengths[modality], expected.lengths[modality])


@settings(max_examples=30)
@given(datasets())
def test_pyarrow_reads_the_same_values(tmp_path_factory, dataset):
    path = tmp_path_factory.mktemp("native") / "data"
    write_native(dataset, path)
    for name, split in dataset.splits.items():
        table = pq.read_table(path / f"{name}-00000.parquet", page_checksum_verification=True)
        for modality in dataset.dims:
            for steps, row in zip(split.sequences[modality], table.column(modality), strict=True):
                assert (steps is None) == (row.as_py() is None)
                if steps is not None:
                    assert np.array_equal(np.array(row.as_py(), np.float32), steps)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_files_that_other_tools_rewrote_are_decoded(tmp_path: Path, compression):
    dataset = small_dataset()
    write_native(dataset, tmp_path / "data")
    for file in (tmp_path / "data").iterdir():
        table = pq.read_table(file)
        pq.write_table(table, file, compression=compression)
    assert_same_dataset(dataset, read_native(tmp_path / "data"))


def test_stale_lengths_are_not_believed(tmp_path: Path):
    """Rows in another order with the old metadata must not be read with the old lengths."""
    dataset = small_dataset()
    write_native(dataset, tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"
    table = pq.read_table(file)
    turned = table.take(pa.array(range(len(table) - 1, -1, -1)))
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(turned.replace_schema_metadata(table.schema.metadata), file, **options)
    back = read_native(tmp_path / "data")["train"]
    assert back.ids == tuple(reversed(dataset["train"].ids))
    for clip, original in zip(back, reversed(list(dataset["train"])), strict=True):
        assert np.array_equal(clip.sequences["text"], original.sequences["text"])


@pytest.mark.parametrize("dim", [3.0, "3", None, [3], -3, 0, 1 << 70])
def test_a_dim_that_cannot_be_is_refused_on_opening(tmp_path: Path, dim):
    write_native(small_dataset(), tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"
    table = pq.read_table(file)
    description = json.loads(table.schema.metadata[METADATA_KEY])
    description["dims"]["text"] = dim
    metadata = {METADATA_KEY: json.dumps(description).encode()}
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table.replace_schema_metadata(metadata), file, **options)
    with pytest.raises(DataError, match="dim"):
        read_native(tmp_path / "data")


def test_files_without_our_metadata_are_read(tmp_path: Path):
    """As pandas or DuckDB would write them: lists of lists of doubles, text labels."""
    folder = tmp_path / "plain"
    folder.mkdir()
    rows = {
        "id": ["a", "b"],
        "label": ["up", "down"],
        "face": [[[1.0, 2.0], [3.0, 4.0]], None],
        "voice": [[[1.0]], [[2.0], [3.0]]],
    }
    pq.write_table(pa.table(rows), folder / "train.parquet")
    dataset = load_dataset(folder)
    assert dataset.task.classes == ("down", "up")
    assert dict(dataset.dims) == {"face": 2, "voice": 1}
    assert dataset["train"].labels.tolist() == [1, 0]
    assert dataset["train"][1].is_missing("face")


def test_an_existing_output_is_kept(tmp_path: Path):
    target = tmp_path / "data"
    target.mkdir()
    (target / "precious.txt").write_text("keep me")
    with pytest.raises(MMAlignError, match="exists already"):
        write_native(small_dataset(), target)
    assert [file.name for file in target.iterdir()] == ["precious.txt"]


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(writer, "_to_table", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_native(small_dataset(), tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_every_truncation_is_refused(tmp_path: Path):
    write_native(small_dataset(), tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"
    content = file.read_bytes()
    for size in range(0, len(content), 7):
        file.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"train-00000\.parquet"):
            read_native(tmp_path / "data")


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(writer, "FORMAT_VERSION", 99)
    write_native(small_dataset(), tmp_path / "data")
    with pytest.raises(DataError, match="newer mmalign"):
        read_native(tmp_path / "data")

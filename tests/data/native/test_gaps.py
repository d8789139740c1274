"""Gaps and groups in the native format: read back to the bit, mapped or decoded."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import GapProtocol, batches, load_dataset, write_native
from mmalign.data.columns import StoredColumn
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.known import verify
from mmalign.data.native import read_native, writer
from mmalign.data.native.layout import METADATA_KEY
from mmalign.errors import DataError
from tests.data.datasets import assert_same_dataset, datasets, small_dataset

TORN = st.builds(
    lambda dataset, rate: GapProtocol(rate=rate, mean_length=1.5).apply(dataset),
    datasets(),
    st.sampled_from([0.2, 0.6]),
)


def small_torn():
    return GapProtocol(rate=0.4, mean_length=2).apply(small_dataset())


def with_groups(dataset):
    splits = {
        name: replace(split, groups=tuple(f"person {i[-1]}" for i in split.ids))
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def assert_same_gaps(first, second):
    assert_same_dataset(first, second)
    assert dataset_hash(replace(first, task=second.task)) == dataset_hash(second)
    for name, split in first.splits.items():
        other = second.splits[name]
        assert (split.gapped, split.groups) == (other.gapped, other.groups)


@settings(max_examples=25)
@given(TORN, st.sampled_from([40, 1 << 26]))
def test_gaps_are_read_back_to_the_bit_from_the_mapped_file(tmp_path_factory, dataset, group_bytes):
    path = tmp_path_factory.mktemp("native") / "data"
    original, writer.ROW_GROUP_BYTES = writer.ROW_GROUP_BYTES, group_bytes
    try:
        write_native(dataset, path)
    finally:
        writer.ROW_GROUP_BYTES = original
    back = load_dataset(path)
    assert_same_gaps(dataset, back)
    for name, split in back.splits.items():
        assert split.is_finite
        assert all(isinstance(column, StoredColumn) for column in split.sequences.values())
        for expected, batch in zip(
            batches(dataset, name, batch_size=3).epoch(1),
            batches(back, name, batch_size=3).epoch(1),
            strict=True,
        ):
            for modality, observed in expected.observed.items():
                assert np.array_equal(batch.observed[modality], observed)
                assert np.array_equal(batch.features[modality], expected.features[modality])


def rewrite(file: Path, change=lambda table: table) -> None:
    pq.write_table(change(pq.read_table(file)), file, compression="zstd")


def test_files_that_other_tools_rewrote_are_decoded(tmp_path: Path):
    dataset = with_groups(small_torn())
    write_native(dataset, tmp_path / "data")
    for file in (tmp_path / "data").iterdir():
        rewrite(file)
    back = load_dataset(tmp_path / "data")
    assert not isinstance(back["train"].sequences["text"], StoredColumn)
    assert_same_gaps(dataset, back)


def test_what_others_put_into_gaps_is_not_looked_at(tmp_path: Path):
    dataset = small_torn()
    write_native(dataset, tmp_path / "data")

    def fill(table):
        for name in ("text", "audio"):
            filled = [
                None if row is None else [[7.0 if x != x else x for x in step] for step in row]
                for row in table.column(name).to_pylist()
            ]
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, pa.array(filled, table.schema.field(name).type))
        return table

    for file in (tmp_path / "data").iterdir():
        rewrite(file, fill)
    assert_same_gaps(dataset, load_dataset(tmp_path / "data"))


def test_a_sequence_of_which_nothing_was_observed_is_missing(tmp_path: Path):
    write_native(small_torn(), tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"

    def forget(table):
        rows = table.column("audio_observed").to_pylist()
        rows[0] = [False] * len(rows[0])
        at = table.schema.get_field_index("audio_observed")
        return table.set_column(at, "audio_observed", pa.array(rows))

    rewrite(file, forget)
    assert load_dataset(tmp_path / "data")["train"].sequences["audio"][0] is None


@pytest.mark.parametrize("row", [[True], [True, None, False]])
def test_observed_that_does_not_fit_is_refused(tmp_path: Path, row):
    write_native(small_torn(), tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"

    def damage(table):
        rows = table.column("audio_observed").to_pylist()
        at = table.schema.get_field_index("audio_observed")
        return table.set_column(at, "audio_observed", pa.array([row, *rows[1:]]))

    rewrite(file, damage)
    with pytest.raises(DataError, match=r"modality audio: a sequence has 3 steps.*audio_observed"):
        load_dataset(tmp_path / "data")


def test_other_tools_see_which_steps_are_there(tmp_path: Path):
    dataset = with_groups(small_torn())
    write_native(dataset, tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"
    table = pq.read_table(file, page_checksum_verification=True)
    train = dataset["train"]
    for row, observed in zip(table.column("text_observed"), train.observed("text"), strict=True):
        assert row.as_py() == observed.tolist()
    assert table.column("group").to_pylist() == list(train.groups)
    assert json.loads(table.schema.metadata[METADATA_KEY])["version"] == 2
    frame = pytest.importorskip("pandas").read_parquet(file)
    assert list(frame["group"]) == list(train.groups)
    assert np.isnan(np.stack(frame["text"][3])[~frame["text_observed"][3]]).all()


def test_data_without_gaps_and_groups_is_written_as_before(tmp_path: Path):
    write_native(small_dataset(), tmp_path / "data")
    schema = pq.read_schema(tmp_path / "data" / "train-00000.parquet")
    assert schema.names == ["id", "label", "text", "audio"]
    assert json.loads(schema.metadata[METADATA_KEY])["version"] == 1


def test_groups_are_read_back(tmp_path: Path):
    dataset = with_groups(small_dataset())
    write_native(dataset, tmp_path / "data")
    back = load_dataset(tmp_path / "data")
    assert_same_gaps(dataset, back)
    assert isinstance(back["train"].sequences["text"], StoredColumn)
    assert dataset_hash(back) == dataset_hash(replace(small_dataset(), task=back.task))


def test_a_group_for_some_clips_only_is_refused(tmp_path: Path):
    write_native(with_groups(small_dataset()), tmp_path / "data")
    file = tmp_path / "data" / "train-00000.parquet"

    def damage(table):
        groups = [None, *table.column("group").to_pylist()[1:]]
        return table.set_column(table.schema.get_field_index("group"), "group", pa.array(groups))

    rewrite(file, damage)
    with pytest.raises(DataError, match="clip train0: no group, though other clips have one"):
        read_native(tmp_path / "data")


def test_a_modality_cannot_have_the_name_of_anothers_gaps(tmp_path: Path):
    torn = small_torn()
    splits = {
        name: replace(
            split,
            sequences={"text": split.sequences["text"], "text_observed": split.sequences["audio"]},
            gapped=frozenset({"text", "text_observed"}),
        )
        for name, split in torn.splits.items()
    }
    renamed = replace(torn, dims={"text": 4, "text_observed": 2}, splits=splits)
    with pytest.raises(DataError, match="a modality cannot be called 'text_observed'"):
        write_native(renamed, tmp_path / "data")


def test_verify_counts_gaps(tmp_path: Path):
    write_native(small_torn(), tmp_path / "data")
    texts = [finding.text for finding in verify(tmp_path / "data")]
    assert any("text lacks" in text and "steps in" in text for text in texts)
    assert not any("non-finite" in text for text in texts)

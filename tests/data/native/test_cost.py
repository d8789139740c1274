"""A Parquet file costs no more memory than its size allows, however it is packed."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmalign.allowance import memory_allowed
from mmalign.data import load_dataset
from mmalign.data.known import verify
from mmalign.data.native.cost import check_cost
from mmalign.errors import DataError
from tests.cost import cost_of

STEPS = pa.list_(pa.list_(pa.float32(), 2))
MANY = 3_000_000


def features(clips: int) -> pa.Array:
    return pa.array([[[1.0, 2.0]]] * clips, STEPS)


def one(**columns) -> dict:
    return {"id": ["a"], "label": [1.0], "m": features(1), **columns}


def words() -> dict:
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(MANY, np.int32)), ["w"])
    return one(words=pa.ListArray.from_arrays([0, MANY], repeated.cast(pa.string())))


def zeros() -> dict:
    flat = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(8 * MANY, np.float32)), 2)
    return one(m=pa.ListArray.from_arrays([0, 4 * MANY], flat))


def nulls() -> dict:
    return {"id": pa.array(["a"]).take(pa.array(np.zeros(MANY, int))), "m": pa.nulls(MANY, STEPS)}


BOMBS = {
    "words": words,
    "zeros": zeros,
    "a long id": lambda: one(id=["a" * 10 * MANY]),
    "nulls": nulls,
    "an id again and again": lambda: {
        "id": ["a" * 200_000] * 2000,
        "label": [1.0] * 2000,
        "m": features(2000),
    },
}


def written(folder, columns, **options):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "train-00000.parquet", **options)
    return folder


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, name, compression):
    folder = written(tmp_path / "data", BOMBS[name](), compression=compression)
    size = sum(file.stat().st_size for file in folder.iterdir())
    cost = cost_of(lambda: load_dataset(folder))
    assert cost.outcome.startswith("DataError")
    assert "bomb" in cost.outcome
    assert cost.memory < memory_allowed(size)


def test_verifying_a_bomb_does_not_unpack_it(tmp_path):
    folder = written(tmp_path / "data", zeros(), compression="zstd")
    assert any("unpacks to" in finding.text for finding in verify(folder))


@pytest.mark.parametrize("label", [3_000_000, 10**9, 2**62])
def test_an_integer_label_does_not_make_as_many_classes(tmp_path, label):
    columns = {"id": ["a", "b"], "label": [0, label], "m": features(2)}
    with pytest.raises(DataError, match="indices of classes"):
        load_dataset(written(tmp_path / "data", columns))


def test_a_label_between_two_classes_is_not_cut(tmp_path):
    schema = pa.schema(
        [("id", pa.string()), ("label", pa.float64()), ("m", STEPS)],
        metadata={"mmalign": '{"task": {"kind": "classification", "classes": ["a", "b"]}}'},
    )
    table = pa.table({"id": ["a", "b"], "label": [0.0, 0.7], "m": features(2)}, schema)
    with pytest.raises(DataError, match=r"label 0\.7"):
        load_dataset(written(tmp_path / "data", table))


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_honest_files_of_any_writer_are_read(tmp_path, compression, version):
    columns = {
        "id": [f"clip {n}" for n in range(50)],
        "label": ["yes", "no"] * 25,
        "m": features(50),
        "words": [["so", f"word {n % 7}"] if n % 3 else None for n in range(50)],
        "group": [f"person {n % 5}" for n in range(50)],
    }
    options = {"compression": compression, "data_page_version": version, "row_group_size": 20}
    data = load_dataset(written(tmp_path / "data", columns, **options))
    assert list(data["train"].ids) == columns["id"]
    assert list(data["train"].words) == columns["words"]
    assert list(data["train"].groups) == columns["group"]
    assert [data.task.classes[label] for label in data["train"].labels] == columns["label"]


def test_a_null_among_the_words_is_refused(tmp_path):
    with pytest.raises(DataError, match="a word is null"):
        load_dataset(written(tmp_path / "data", one(words=[["so", None]])))


def test_texts_that_only_repeat_the_text_before_them_are_refused(tmp_path):
    columns = {"id": ["a" * 9 + str(n) for n in range(9)], "m": features(9)}
    options = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}}
    with pytest.raises(DataError, match="encoding"):
        load_dataset(written(tmp_path / "data", columns, **options))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1" * 99])
def test_what_has_no_footer_is_refused(content):
    with pytest.raises(DataError, match="Parquet"):
        check_cost(memoryview(content))


def test_a_footer_of_nested_lists_is_refused():
    inside = b"\x49" + b"\x19" * 60 + b"\x00" * 40
    content = b"PAR1" + inside + len(inside).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(DataError, match="Parquet"):
        check_cost(memoryview(content))

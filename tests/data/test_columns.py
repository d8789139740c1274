"""Columns in one block of bytes: the same clips as a list of arrays would hold."""

import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import Split
from mmalign.data import columns as module
from mmalign.data.batching import make_batch, pad
from mmalign.data.columns import StoredColumn, drop_from, lengths_of, select_from
from mmalign.data.pickles import map_file


@st.composite
def stored_columns(draw):
    """A column in a block full of NaN, as a list and stored; some bytes more before and between."""
    dim = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=9))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    block, starts, arrays = b"", [], []
    for length in lengths:
        block += b"\xff" * draw(st.integers(0, 5))
        steps = random.standard_normal((length, dim), dtype=np.float32)
        starts.append(len(block))
        block += steps.tobytes()
        arrays.append(steps if length else None)
    block += b"\xff" * draw(st.integers(0, 80))
    stored = np.frombuffer(block, np.uint8)
    return arrays, StoredColumn(stored, np.array(starts), np.array(lengths), dim)


def assert_same_column(column, arrays):
    assert len(column) == len(arrays)
    for steps, expected in zip(column, arrays, strict=True):
        assert (steps is None) == (expected is None)
        if expected is not None:
            assert steps.dtype == np.float32
            assert steps.tobytes() == expected.tobytes()
            assert steps.shape == expected.shape


@given(stored_columns())
def test_a_stored_column_holds_its_sequences(columns):
    arrays, column = columns
    assert_same_column(column, arrays)
    assert_same_column(column[1:4], arrays[1:4])
    assert_same_column([column[-1]], [arrays[-1]])
    assert lengths_of(column).tolist() == lengths_of(arrays).tolist()
    assert_same_column(pickle.loads(pickle.dumps(column)), arrays)
    with pytest.raises(IndexError, match="of"):
        column[len(arrays)]


@given(stored_columns(), st.data())
def test_choosing_and_dropping_do_what_they_do_to_a_list(columns, data):
    arrays, column = columns
    positions = st.integers(0, len(arrays) - 1)
    rows = data.draw(st.lists(positions, max_size=12))
    assert_same_column(select_from(column, rows), select_from(arrays, rows))
    gone = data.draw(st.lists(st.booleans(), min_size=len(arrays), max_size=len(arrays)))
    dropped = drop_from(column, gone)
    assert isinstance(dropped, StoredColumn)
    assert_same_column(dropped, drop_from(arrays, gone))


@given(stored_columns(), st.data())
def test_a_batch_is_what_padding_each_sequence_gives(columns, data):
    """Whatever lies between the sequences, and however near to the end of the block."""
    arrays, column = columns
    rows = data.draw(st.lists(st.integers(0, len(arrays) - 1), min_size=1, max_size=12))
    split = Split(tuple(map(str, range(len(arrays)))), None, {"a": column})
    batch = make_batch(split, {"a": column.dim}, rows)
    expected, lengths = pad([arrays[row] for row in rows], column.dim)
    assert batch.features["a"].tobytes() == expected.tobytes()
    assert batch.features["a"].shape == expected.shape
    assert batch.lengths["a"].tolist() == lengths.tolist()
    assert batch.features["a"].flags.writeable
    batch.features["a"][...] = 7  # a copy: the file must not change
    assert_same_column(column, arrays)


def test_windows_go_beyond_the_end_of_a_sequence_but_not_of_the_block():
    stored = np.arange(5, dtype=np.float32).view(np.uint8)
    column = StoredColumn(stored, np.array([0, 8]), np.array([2, 3]), 1)
    assert column.windows(np.array([1, 0]), 3)[..., 0].tolist() == [[2, 3, 4], [0, 1, 2]]
    assert column.windows(np.array([1, 0]), 4) is None
    assert column.windows(np.array([0]), 6) is None


def test_dropping_leaves_the_first_column_as_it_was():
    stored = np.arange(4, dtype=np.float32).view(np.uint8)
    column = StoredColumn(stored, np.array([0, 8]), np.array([2, 2]), 1)
    drop_from(column, [True, False])
    lengths_of(column)[:] = 0
    assert column.lengths.tolist() == [2, 2]
    assert column[0].tolist() == [[0], [1]]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells what is resident")
def test_a_pass_over_a_mapped_file_gives_its_memory_back(tmp_path, monkeypatch):
    numbers = np.arange(1 << 24, dtype=np.float32)  # 64 MB
    numbers.tofile(tmp_path / "numbers")
    lengths = np.full(1 << 10, 1 << 11)
    starts = 4 * 8 * np.concatenate(([0], np.cumsum(lengths)[:-1]))

    def column() -> StoredColumn:
        stored = np.frombuffer(map_file(tmp_path / "numbers"), dtype=np.uint8)
        return StoredColumn(stored, starts, lengths, 8)

    def growth(at_once: int) -> int:
        monkeypatch.setattr(module, "AT_ONCE", at_once)
        found, before = column(), resident()
        total = sum(float(steps.sum(dtype=np.float64)) for steps in found)
        assert total == numbers.sum(dtype=np.float64)
        return resident() - before

    assert growth(1 << 20) < 16 << 20
    assert growth(1 << 40) > 48 << 20
    monkeypatch.setattr(module, "AT_ONCE", 1)
    rows = np.array([5, 1, 1023])
    expected = np.stack([column()[row] for row in rows.tolist()])
    np.testing.assert_array_equal(column().windows(rows, 1 << 11), expected)


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()

"""Arrays in .npy and .npz files, with numpy's own loader as oracle."""

import io
import struct
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mmalign.data.arrays import parse_npy, read_npy, read_npz
from mmalign.errors import DataError

ARRAYS = hnp.arrays(
    st.one_of(
        hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
        hnp.integer_dtypes(endianness="?"),
        hnp.boolean_dtypes(),
        hnp.unicode_string_dtypes(max_len=4),
    ),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


def saved(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_header(text: str, body: bytes = b"", version: int = 1) -> bytes:
    raw = text.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(raw))
    return b"\x93NUMPY" + bytes([version, 0]) + size + raw + body


@given(ARRAYS, st.sampled_from("CF"))
def test_arrays_are_what_numpy_reads(array, order):
    content = saved(np.asarray(array, order=order))
    ours, theirs = parse_npy(memoryview(content)), np.load(io.BytesIO(content))
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@given(ARRAYS, st.data())
def test_a_cut_array_is_refused(array, data):
    content = saved(array)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataError):
        parse_npy(memoryview(content[:cut]))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x93NUMPY", "not an .npy array"),
        (b"\x93NUMPX\x01\x00\x00\x00\x00\x00", "not an .npy array"),
        (with_header("{'shape': ()}"), "header"),
        (with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "Python objects"),
        (with_header("{'descr': '<M8', 'fortran_order': False, 'shape': (1,)}"), "no array"),
        (with_header("{'descr': '<f3', 'fortran_order': False, 'shape': (0,)}"), "unknown type"),
        (
            with_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 40},)}}"),
            "needs",
        ),
        (
            with_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 60},)}}"),
            "shape",
        ),
        (b"\x93NUMPY\x02\x00" + b"\xff" * 8, "header"),
        (b"\x93NUMPY\x09\x00" + b"\x00" * 8, "header"),
    ],
)
def test_a_strange_header_is_refused_before_anything_is_allocated(content, problem):
    with pytest.raises(DataError, match=problem):
        parse_npy(memoryview(content))


@pytest.mark.parametrize(
    "inside", ["1" * 40 + "x", "1," * 4000 + "x", "1L" * 3000, " " * 9000 + "x"]
)
def test_no_header_takes_long_to_refuse(inside):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({inside})}}"
    started = time.process_time()
    with pytest.raises(DataError):
        parse_npy(memoryview(with_header(text)))
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("shape", [(1 << 20, 0), (0, 50_000_000, 3), (1 << 47, 0)])
def test_rows_without_values_are_refused_where_there_are_millions(shape):
    with pytest.raises(DataError, match="no values"):
        parse_npy(
            memoryview(with_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"))
        )


def test_headers_of_python_2_are_read():
    content = with_header(
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 1L), }\n", bytes(8)
    )
    assert parse_npy(memoryview(content)).shape == (2, 1)


def test_the_file_is_named(tmp_path):
    file = tmp_path / "x.npy"
    file.write_bytes(saved(np.zeros(3))[:-1])
    with pytest.raises(DataError, match="bytes") as caught:
        read_npy(file)
    assert caught.value.file == str(file)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_what_numpy_reads(tmp_path, save):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "words": np.array(["x", "yz"])}
    save(tmp_path / "x.npz", **arrays)
    ours = read_npz(tmp_path / "x.npz")
    assert list(ours) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(ours[name], array)


def test_a_flipped_bit_in_stored_features_is_seen(tmp_path):
    file = tmp_path / "x.npz"
    np.savez(file, a=np.ones(100))
    content = bytearray(file.read_bytes())
    content[400] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match="bytes that were stored"):
        read_npz(file)

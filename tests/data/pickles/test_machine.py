"""The pickle machine against Python's own unpickler, on pickles we made ourselves."""

import collections
import contextlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mmalign.data.pickles import PickleMachine, Python2Text, read_pickle
from mmalign.data.pickles.state import MOST_NESTING
from mmalign.errors import DataError

PROTOCOLS = st.integers(0, 5)

KEYS = st.one_of(st.text(max_size=8), st.binary(max_size=8), st.integers(-(2**50), 2**50))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.binary(max_size=2000),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
    ),
    max_leaves=20,
)
DTYPES = st.one_of(
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.boolean_dtypes(),
    hnp.byte_string_dtypes(max_len=5),
    hnp.unicode_string_dtypes(max_len=5),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))


def run(content: bytes):
    return PickleMachine(memoryview(content)).run()


def assert_same(ours, theirs) -> None:
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray)
        assert ours.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("=")
        np.testing.assert_array_equal(ours, theirs)
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, bytes | bytearray):
        assert bytes(ours) == bytes(theirs)
    else:
        assert ours == theirs


@given(VALUES, PROTOCOLS)
def test_plain_values_are_what_python_reads(value, protocol):
    content = pickle.dumps(value, protocol)
    assert_same(run(content), pickle.loads(content))


@given(ARRAYS, PROTOCOLS, st.sampled_from("CF"))
def test_arrays_are_what_python_reads(array, protocol, order):
    content = pickle.dumps(np.asarray(array, order=order), protocol)
    assert_same(run(content), pickle.loads(content))


@given(st.lists(ARRAYS, max_size=4), PROTOCOLS)
def test_arrays_that_appear_twice_are_what_python_reads(arrays, protocol):
    content = pickle.dumps([*arrays, *arrays, (arrays, {"a": arrays})], protocol)
    assert_same(run(content), pickle.loads(content))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.int64(-3),
        np.array([{"a": 1}, [2.0], None], dtype=object),
        collections.OrderedDict(a=1, b=[2]),
        collections.defaultdict(int, a=1),
        bytearray(b"abc" * 500),
        np.zeros((3, 1000), np.float32)[:, ::2],
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_of_data_files_are_what_python_reads(value, protocol):
    content = pickle.dumps(value, protocol)
    assert_same(run(content), pickle.loads(content))


def test_long_arrays_are_views_on_the_buffer():
    content = pickle.dumps(np.arange(1000.0), 4)
    array = run(content)
    assert not array.flags.owndata
    assert np.shares_memory(array, np.frombuffer(content, np.uint8))


@given(ARRAYS, PROTOCOLS, st.data())
def test_a_cut_pickle_is_refused(array, protocol, data):
    content = pickle.dumps([array, "end"], protocol)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataError):
        run(content[:cut])


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(content):
    with contextlib.suppress(DataError):
        run(content)


def test_arrays_of_lists_are_read_unless_they_could_nest_too_deep():
    arrays = [np.array([[n], None], object) for n in range(MOST_NESTING)]
    assert_same(run(pickle.dumps(arrays)), arrays)
    with pytest.raises(DataError, match="more than 1,000 arrays that hold lists"):
        run(pickle.dumps([*arrays, np.array([{}, None], object)]))
    words = [np.array(["a", f"b{n}"], object) for n in range(MOST_NESTING + 1)]
    assert_same(run(pickle.dumps(words)), words)


def test_python2_strings_are_marked():
    value = run(b"U\x03abc.")
    assert value == "abc"
    assert isinstance(value, Python2Text)


def test_a_refusal_says_what_and_where():
    with pytest.raises(DataError, match=r"refused to unpickle os\.system at byte"):
        run(b"cos\nsystem\n(S'true'\ntR.")


def test_a_name_alone_is_harmless():
    assert run(b"cos\nsystem\n.").name == "system"


@pytest.mark.parametrize("content", [b"", b"."])
def test_a_pickle_without_a_value_is_refused(content):
    with pytest.raises(DataError):
        run(content)


def test_the_file_is_named(tmp_path):
    file = tmp_path / "x.pkl"
    file.write_bytes(b"\x80\x04K")
    with pytest.raises(DataError) as caught:
        read_pickle(file)
    assert caught.value.file == str(file)
    assert "ends too early" in str(caught.value) or "announced" in str(caught.value)


def test_a_large_file_passes_its_megabytes(tmp_path):
    content = pickle.dumps([np.zeros(1 << 18) for _ in range(3)])
    machine = PickleMachine(memoryview(content))
    assert len(list(machine.megabytes())) == len(content) >> 20
    assert len(machine.value()) == 3


@pytest.mark.parametrize("protocol", range(6))
def test_lists_of_numbers_words_and_arrays_are_far_below_what_they_may_cost(protocol):
    value = {
        "numbers": [float(n) for n in range(2000)],
        "words": [f"word {n}" for n in range(2000)],
    }
    value["arrays"] = [np.full((3, 4), float(n), np.float32) for n in range(500)]
    content = pickle.dumps(value, protocol)
    machine = PickleMachine(memoryview(content))
    before = machine.state.budget
    assert_same(machine.run(), value)
    assert before - machine.state.budget < 18 * len(content) < before

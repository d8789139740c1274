"""Windows over modalities that come and go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.errors import ConfigError
from mmalign.serving.stream import Stream, StreamConfig

DIMS = {"a": 1, "b": 2}


def make(**changes) -> Stream:
    given = {"rates": {"a": 10.0, "b": 5.0}, "window": 2.0, "stride": 1.0, "patience": 1.0}
    return Stream(StreamConfig(**{**given, "max_steps": 1000, **changes}), DIMS)


def frames(name: str, first: int, count: int) -> np.ndarray:
    """Frames that carry their own number."""
    return np.repeat(np.arange(first, first + count, dtype=np.float32)[:, None], DIMS[name], 1)


def feed(stream: Stream, name: str, first: int, count: int, at=None):
    return stream.push({name: frames(name, first, count)}, at)


def test_a_window_waits_for_all_that_are_alive():
    stream = make()
    assert feed(stream, "a", 0, 20) == []  # two seconds of a, b is on its way
    (window,) = feed(stream, "b", 0, 10)
    assert window.time == 2.0
    np.testing.assert_array_equal(window.sequences["a"][:, 0], np.arange(20))
    np.testing.assert_array_equal(window.sequences["b"][:, 0], np.arange(10))
    assert window.silent == {}


def test_a_modality_that_stops_counts_as_missing_and_the_answer_says_since_when():
    stream = make()
    stream.push({"a": frames("a", 0, 20), "b": frames("b", 0, 12)})
    windows = [w for n in range(2, 6) for w in feed(stream, "a", 10 * n, 10)]
    assert [w.time for w in windows] == [3.0, 4.0, 5.0, 6.0]
    for window in windows:
        assert set(window.sequences) == {"a"}
        assert window.silent == {"b": 2.4}


def test_a_modality_that_returns_is_used_again():
    stream = make()
    stream.push({"a": frames("a", 0, 50), "b": frames("b", 0, 10)})
    assert stream.silent == {"b": 2.0}
    back = [
        w
        for n in (5, 6, 7)
        for w in stream.push({"a": frames("a", 10 * n, 10), "b": frames("b", 5 * n, 5)})
    ]
    assert stream.silent == {}
    assert [w.time for w in back][-1] == 8.0
    last = back[-1]
    assert last.silent == {}
    # It was not told when b came back, so its first frames ended when they arrived.
    assert np.isfinite(last.sequences["b"]).all()
    np.testing.assert_array_equal(last.sequences["a"][:, 0], np.arange(60, 80))


def test_told_times_leave_gaps():
    stream = make()
    feed(stream, "a", 0, 20)
    feed(stream, "b", 0, 3)
    (window,) = feed(stream, "b", 7, 3, at=1.4)
    np.testing.assert_array_equal(window.sequences["b"][:, 0], [0, 1, 2, *[np.nan] * 4, 7, 8, 9])
    with pytest.raises(ConfigError, match="already known up to 2 s"):
        feed(stream, "b", 0, 3, at=1.0)


def test_a_hole_in_everything_costs_no_time_and_no_memory():
    stream = make(rates={"a": 10.0})
    feed(stream, "a", 0, 30)
    found = feed(stream, "a", 0, 10, at=1e9)
    assert len(found) <= 3
    assert all(1e9 <= window.time <= 1e9 + 3 for window in found)
    assert stream.tracks["a"].end - stream.tracks["a"].start <= 30


@pytest.mark.parametrize("at", [1e15, 1e20, 1e300, 1e308])
def test_times_that_no_frame_can_have_are_refused(at):
    """One message with such a time kept the service busy for ever."""
    stream = make(rates={"a": 10.0})
    with pytest.raises(ConfigError, match="at: too large"):
        feed(stream, "a", 0, 3, at=at)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 30)), max_size=12))
def test_every_window_shows_what_arrived_in_time_order(chunks):
    stream, sent, times = make(), {"a": 0, "b": 0}, []
    for name, count in chunks:
        was_silent = dict(stream.silent)
        for window in feed(stream, name, sent[name], count):
            times.append(window.time)
            assert window.sequences
            assert not set(window.sequences) & set(window.silent)
            for shown, steps in window.sequences.items():
                assert len(steps) == round(2.0 * stream.config.rates[shown])
                if not was_silent and not window.silent:
                    ends = round(window.time * stream.config.rates[shown])
                    known = steps[~np.isnan(steps[:, 0]), 0]
                    assert (np.diff(known) == 1).all()
                    assert known[-1] <= ends
        sent[name] += count
        assert all(len(t._frames) <= 1100 for t in stream.tracks.values())
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    "changes",
    [
        {"rates": {}},
        {"rates": {"a": 0.0}},
        {"rates": {"a": 1e300}, "window": 1e-298, "stride": 1e-299, "patience": 1e-299},
        {"rates": {"a": 1e-300}, "window": 1e300},
        {"window": 0.0},
        {"window": float("nan")},
        {"stride": 0.01},
        {"patience": float("inf")},
        {"window": 1000.0},
        {"window": 0.1},
    ],
)
def test_nonsense_is_refused(changes):
    with pytest.raises(ConfigError):
        make(**changes)

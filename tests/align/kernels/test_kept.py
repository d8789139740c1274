"""Kernels that were compiled ahead give the bits of Numba's, without Numba."""

import subprocess
import sys
from unittest.mock import Mock

import numba
import numpy as np
import pytest

from mmalign.align.kernels import kept
from mmalign.align.kernels.ahead import object_code
from mmalign.align.kernels.jit import compiled


@compiled
def scale_rows(rows, factor, count, is_doubled, out):
    sums = np.zeros(len(rows), np.float32)
    for r in range(min(count, len(rows))):
        for k in range(rows.shape[1]):
            sums[r] += rows[r, k] * factor
        if sums[r] != sums[r]:
            raise ValueError("not a number")
        out[r] = sums[r] * np.float32(2) if is_doubled else sums[r]


@compiled
def needs_numba(numbers, out):
    out[0] = numbers.reshape(2, -1).max()


ROWS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
GIVEN = ROWS, np.float32(0.3), 4, True


def entry_of(function, *examples):
    """The entry of a kernel, loaded from what would be kept."""
    function(*examples)
    content = kept.packed(*object_code({f"made.{function.__name__}": function}))
    found = kept._loaded("experts", content)
    return found[f"made.{function.__name__}"]


@pytest.fixture(scope="module")
def entry():
    return entry_of(scale_rows, *GIVEN, np.empty(5, np.float32))


def test_bits_are_those_of_numba(entry):
    for given in (GIVEN, (ROWS, np.float32(-1e-3), 9, False)):
        expected, found = np.full((2, 5), 7, np.float32)
        scale_rows(*given, expected)
        entry(*given, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "other", [ROWS.astype(np.float64), ROWS[:, ::2], ROWS[0]], ids=["double", "strided", "flat"]
)
def test_other_arguments_are_left_to_numba(entry, monkeypatch, other):
    calls = []
    monkeypatch.setattr(entry, "_otherwise", lambda: lambda *given: calls.append(given))
    entry(other, *GIVEN[1:], np.empty(5, np.float32))
    assert calls[0][0] is other


def test_another_kind_of_number_is_left_to_numba(entry, monkeypatch):
    otherwise = Mock()
    monkeypatch.setattr(entry, "_otherwise", lambda: otherwise)
    entry(ROWS, np.float32(1), 2.5, True, np.empty(5, np.float32))
    otherwise.assert_called_once()


@pytest.mark.parametrize("array", [ROWS, ROWS[1:], ROWS[:0], np.float32(3)[None]])
def test_arrays_are_where_numpy_says(array):
    assert kept._read_address(array) == kept._told_address(array)


def test_errors_are_numbas(entry, monkeypatch):
    monkeypatch.setattr(entry, "_otherwise", lambda: scale_rows)
    bad = np.full((5, 7), np.nan, np.float32)
    with pytest.raises(ValueError, match="not a number"):
        entry(bad, *GIVEN[1:], np.empty(5, np.float32))


def test_what_needs_numba_is_not_kept():
    with pytest.raises(ValueError, match="without Numba"):
        entry_of(needs_numba, np.arange(6.0), np.empty(1))


def test_it_is_kept_where_nobody_else_can_write(tmp_path, monkeypatch):
    private, shared = tmp_path / "private", tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr(kept, "PARTS", ("made",))
    monkeypatch.setattr(kept, "_places", lambda _: [shared / "a.code", private / "a.code"])
    scale_rows(*GIVEN, np.empty(5, np.float32))
    assert kept.keep("made", {"made.scale_rows": scale_rows})
    assert not list(shared.iterdir())
    content = (private / "a.code").read_bytes()
    (shared / "a.code").write_bytes(content)
    monkeypatch.setattr(kept, "_places", lambda _: [shared / "a.code"])
    assert kept.kept.__wrapped__() == {}
    monkeypatch.setattr(kept, "_places", lambda _: [private / "a.code"])
    assert list(kept.kept.__wrapped__()) == ["made.scale_rows"]
    (private / "a.code").write_bytes(content[:-1])
    assert kept.kept.__wrapped__() == {}


def test_code_that_cannot_be_made_or_loaded_is_not_kept(tmp_path, monkeypatch):
    path = tmp_path / "kernels.code"
    monkeypatch.setattr(kept, "_places", lambda _: [path])
    broken = Mock(**{"return_value.Process.return_value.exitcode": -11})
    monkeypatch.setattr(kept, "get_context", broken)
    used = [kept.Kernel("made", "scale_rows")]
    monkeypatch.setattr(used[0], "of_numba", lambda: scale_rows)
    scale_rows(*GIVEN, np.empty(5, np.float32))
    assert not kept.keep_for_reading("made", used)
    assert broken.called
    assert not path.exists()
    monkeypatch.setattr(kept, "keep", Mock(side_effect=AttributeError("another Numba")))
    assert not kept.keep_for_reading("made", used)


def test_a_name_is_numbas_where_it_is_in_use_or_nothing_is_kept(monkeypatch):
    named = kept.Kernel("experts.taps_kernels", "fill_highest")
    steps = np.arange(6, dtype=np.float32).reshape(3, 2)
    found = np.empty_like(steps)
    named(steps, np.array([0, 3]), found)
    assert isinstance(named._run, numba.core.dispatcher.Dispatcher)
    np.testing.assert_array_equal(found, [[2, 3], [4, 5], [4, 5]])


SCRIPT = """
import sys
import numpy as np
from mmalign.align.kernels.kept import kept
from mmalign.data.packed import packed
from mmalign.experts.taps import Taps, shapes, Weights
form = shapes(4, dim=64, blocks=1, outputs=3)
network = Taps(Weights.drawn(form, np.random.default_rng(0)).named, 1.0)
found = network(packed([np.ones((9, 2), np.float32)]))
assert kept(), "nothing is kept"
assert "numba" not in sys.modules
import mmalign.experts.taps_forward
for name in ("turn_weights", "read_clips"):
    getattr(mmalign.experts.taps, name)._run = None
assert (network(packed([np.ones((9, 2), np.float32)])) == found).all()
assert "numba" in sys.modules
"""


def test_experts_read_without_numba_once_kernels_are_compiled():
    from mmalign.experts.compile import compile_kernels

    assert compile_kernels()
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=300)

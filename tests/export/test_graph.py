"""Values of a graph compute what numpy computes."""

import numpy as np
import pytest
from onnxruntime import InferenceSession

from mmalign.errors import ConfigError
from mmalign.export.graph import Graph
from mmalign.export.sequences import given_sequences, moved, without_gaps


def run(graph: Graph, **given) -> list[np.ndarray]:
    payload = graph.model({"who": "me"}).SerializeToString()
    session = InferenceSession(payload, providers=["CPUExecutionProvider"])
    return session.run(None, {name.replace("_", "."): value for name, value in given.items()})


def test_arithmetic_is_that_of_numpy():
    graph = Graph()
    a = graph.input("a", np.int64, ["n"])
    b = graph.input("b", np.float32, ["n"])
    graph.output("floor", a // 4, ["n"])
    graph.output("mixed", 2 - b * 3 + np.array([1, 2, 3], np.float32), ["n"])
    graph.output("where", graph.where((a > 0) & ~(b < 1), b, -1), ["n"])
    x, y = np.array([-7, 4, 9]), np.array([0.5, 1.0, 7.0], np.float32)
    floor, mixed, where = run(graph, a=x, b=y)
    np.testing.assert_array_equal(floor, x // 4)
    np.testing.assert_array_equal(mixed, 2 - y * 3 + np.array([1, 2, 3], np.float32))
    np.testing.assert_array_equal(where, [-1, 1, 7])


def test_constants_that_are_alike_are_kept_once():
    graph = Graph()
    a = graph.input("a", np.float32, ["n"])
    graph.output("b", (a + 1.0) * 1.0 + np.ones((), np.float32), ["n"])
    assert len(graph.initializers) == 1


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 9])
def test_steps_are_moved_and_zeros_come_in(offset):
    graph = Graph()
    steps = graph.input("a", np.float32, ["n", "t", 1])
    graph.output("b", moved(steps, offset), ["n", "t", 1])
    given = np.arange(1, 6, dtype=np.float32)
    (found,) = run(graph, a=given[None, :, None])
    expected = [given[t + offset] if 0 <= t + offset < 5 else 0 for t in range(5)]
    assert found[0, :, 0].tolist() == expected


@pytest.mark.parametrize("smooth", [False, True])
def test_gaps_are_closed_or_bridged_as_experts_do_it(smooth):
    from mmalign.experts.gaps import without_gaps as expected_without

    graph = Graph()
    found = without_gaps(given_sequences(graph, "a", 2), smooth=smooth)
    graph.output("steps", found.steps, ["n", "t", 2])
    graph.output("lengths", found.lengths, ["n"])
    graph.output("there", found.is_there, ["n"])
    random = np.random.default_rng(0)
    lengths = np.array([9, 5, 0, 1, 9, 3])
    steps = random.normal(size=(6, 9, 2)).astype(np.float32)
    is_gap = random.random((6, 9)) < 0.5
    is_gap[0], is_gap[3], is_gap[5, :3] = False, False, True
    steps[is_gap] = np.nan
    made, sizes, there = run(graph, a=steps, a_length=lengths)
    assert there.tolist() == [True, True, False, True, True, False]
    for row in np.flatnonzero(there):
        expected = expected_without(steps[row, : lengths[row]], smooth=smooth)
        assert sizes[row] == len(expected)
        np.testing.assert_array_equal(made[row, : sizes[row]], expected)
        assert not made[row, sizes[row] :].any()


@pytest.mark.parametrize("name", ["a", "a.length", "/c0", "/v0.0"])
def test_a_modality_whose_name_another_value_has_is_refused(name):
    """The checker of ONNX raised an error of its own, or a constant took the place of an input."""
    graph = Graph()
    given_sequences(graph, "a", 2)
    with pytest.raises(ConfigError, match=f"is called '{name}' already"):
        given_sequences(graph, name, 2)

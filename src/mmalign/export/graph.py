"""A graph of ONNX operators, written as arithmetic on its values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmalign.errors import ConfigError
from mmalign.version import __version__

OPSET, IR_VERSION = 18, 8
"""Old enough for every onnxruntime since 1.14."""

OWN = "/"
"""What names of a graph's own values begin with."""

Number = bool | int | float


class Graph:
    """Collects operators; constants that are alike are kept once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.initializers: list[Any] = []
        self._claimed: set[str] = set()

    def op(
        self, kind: str, *given: Any, dtype: Any = None, outputs: int = 1, **options: Any
    ) -> Any:
        """What an operator gives; numbers take the type of the first value that is given.

        Args:
            kind: Name of the operator.
            given: Values, arrays, numbers, or None for an input that is left out.
            dtype: Type of what it gives; without it, that of the first value.
            outputs: How many values it gives.
            options: Attributes.
        """
        from onnx import helper

        like = next(one.dtype for one in given if isinstance(one, Value | np.ndarray))
        names = ["" if one is None else self.value(one, like).name for one in given]
        made = [f"{OWN}v{len(self.nodes)}.{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, made, **options))
        found = [Value(self, name, np.dtype(dtype or like)) for name in made]
        return found[0] if outputs == 1 else found

    def value(self, given: Any, dtype: Any = None) -> "Value":
        """A value as it is; an array as a constant; a number as a constant of this type."""
        from onnx import numpy_helper

        if isinstance(given, Value):
            return given
        array = np.ascontiguousarray(given, None if isinstance(given, np.ndarray) else dtype)
        array = array.reshape(np.shape(given))
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self.constants:
            self.constants[key] = f"{OWN}c{len(self.constants)}"
            self.initializers.append(numpy_helper.from_array(array, self.constants[key]))
        return Value(self, self.constants[key], array.dtype)

    def input(self, name: str, dtype: Any, shape: Sequence[str | int]) -> "Value":
        """A value that is given from outside.

        Raises:
            ConfigError: If another value has this name.
        """
        self._claim(name)
        self.inputs.append(_described(name, dtype, shape))
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: "Value", shape: Sequence[str | int]) -> None:
        """Give a value to the outside under a name.

        Raises:
            ConfigError: If another value has this name.
        """
        from onnx import helper

        self._claim(name)
        self.nodes.append(helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(_described(name, value.dtype, shape))

    def _claim(self, name: str) -> None:
        if name.startswith(OWN) or name in self._claimed:
            raise ConfigError(
                f"a value of the graph is called {name!r} already, so no modality can be. "
                "Train with another name."
            )
        self._claimed.add(name)

    def range(self, size: "Value") -> "Value":
        """0, 1, 2, … up to a size, which is a vector of one number."""
        nought, one = np.array(0, np.int64), np.array(1, np.int64)
        stop = self.op("Squeeze", size, np.array([0], np.int64))
        found: Value = self.op("Range", nought, stop, one)
        return found

    def where(self, condition: "Value", yes: Any, no: Any) -> "Value":
        """One or the other, by a condition."""
        dtype = next(one.dtype for one in (yes, no) if isinstance(one, Value | np.ndarray))
        chosen = self.value(yes, dtype), self.value(no, dtype)
        found: Value = self.op("Where", condition, *chosen, dtype=dtype)
        return found

    def join(self, values: Sequence["Value | np.ndarray"], axis: int) -> "Value":
        """Values side by side along an axis."""
        found: Value = self.op("Concat", *values, axis=axis)
        return found

    def zeros(self, *sizes: "Value | int", dtype: Any = np.float32) -> "Value":
        """Zeros of a shape whose sizes are numbers or vectors of one number."""
        return self.value(np.zeros((), dtype)).expand(*sizes)

    def model(self, facts: Mapping[str, str]) -> Any:
        """The checked model, with facts as its metadata."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(
            self.nodes, "mmalign", self.inputs, self.outputs, self.initializers
        )
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="mmalign",
            producer_version=__version__,
        )
        helper.set_model_props(made, dict(facts))
        onnx.checker.check_model(made)
        return made


def _operator(kind: str, dtype: Any = None) -> "Callable[[Value, Any], Value]":
    """The method by which Python writes an operator of two values, or of a value and a number."""
    return lambda value, other: value.apply(kind, other, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Value:
    """What one operator of a graph gives, with its type."""

    graph: Graph
    name: str
    dtype: np.dtype

    __array_ufunc__ = None  # so that array + value is left to the value

    __add__ = __radd__ = _operator("Add")
    __mul__ = __rmul__ = _operator("Mul")
    __sub__ = _operator("Sub")
    __truediv__ = _operator("Div")
    __mod__ = _operator("Mod")
    __matmul__ = _operator("MatMul")
    __and__ = _operator("And")
    __or__ = _operator("Or")
    __lt__ = _operator("Less", bool)
    __gt__ = _operator("Greater", bool)
    __ge__ = _operator("GreaterOrEqual", bool)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.value(other, self.dtype) - self

    def __floordiv__(self, other: Any) -> "Value":
        """Division of whole numbers that rounds down, also below 0."""
        divisor = self.graph.value(other, self.dtype)
        return (self - self % divisor) / divisor

    def __neg__(self) -> "Value":
        return self.apply("Neg")

    def __invert__(self) -> "Value":
        return self.apply("Not")

    def apply(self, kind: str, *others: Any, dtype: Any = None, **options: Any) -> "Value":
        """What an operator makes of it."""
        found: Value = self.graph.op(kind, self, *others, dtype=dtype, **options)
        return found

    def cast(self, dtype: Any) -> "Value":
        """The same numbers in another type."""
        if np.dtype(dtype) == self.dtype:
            return self
        from onnx import helper

        return self.apply("Cast", dtype=dtype, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def at_least(self, low: Number) -> "Value":
        """The larger of each number and a bound."""
        return self.apply("Max", low)

    def at_most(self, high: Any) -> "Value":
        """The smaller of each number and a bound."""
        return self.apply("Min", high)

    def sum(self, axis: int, *, keep: bool = False) -> "Value":
        """Sum along an axis."""
        return self._reduced("ReduceSum", axis, keep)

    def max(self, axis: int, *, keep: bool = False) -> "Value":
        """Maximum along an axis."""
        return self._reduced("ReduceMax", axis, keep)

    def _reduced(self, kind: str, axis: int, keep: bool) -> "Value":
        return self.apply(kind, np.array([axis], np.int64), keepdims=int(keep))

    def size(self, axis: int) -> "Value":
        """Its size along an axis, as a vector of one number."""
        return self.apply("Shape", dtype=np.int64, start=axis, end=axis + 1)

    def reshape(self, *sizes: "Value | int") -> "Value":
        """The same numbers in another shape; 0 keeps a size, -1 is what is left."""
        return self.apply("Reshape", self.graph.join([_vector(size) for size in sizes], 0))

    def expand(self, *sizes: "Value | int") -> "Value":
        """Repeated to a shape."""
        return self.apply("Expand", self.graph.join([_vector(size) for size in sizes], 0))

    def transpose(self, *axes: int) -> "Value":
        """With its axes in another order."""
        return self.apply("Transpose", perm=axes)

    def wider(self, *axes: int) -> "Value":
        """With new axes of size 1 at these places."""
        return self.apply("Unsqueeze", np.array(axes, np.int64))

    def narrower(self, *axes: int) -> "Value":
        """Without these axes of size 1."""
        return self.apply("Squeeze", np.array(axes, np.int64))

    def slice(self, axis: int, start: "Value | int", stop: "Value | int") -> "Value":
        """From one place to before another along an axis."""
        return self.apply("Slice", _vector(start), _vector(stop), np.array([axis], np.int64))

    def take(self, places: "Value | np.ndarray", axis: int) -> "Value":
        """What stands at these places along an axis."""
        return self.apply("Gather", places, axis=axis)

    def at(self, places: "Value") -> "Value":
        """`[batch, time, dim]` at places `[batch, other time]`, clip by clip."""
        return self.apply("GatherND", places.wider(2), batch_dims=1)

    def padded(self, axis: int, before: "Value | int", after: "Value | int") -> "Value":
        """With so many zeros more along an axis of a value with three."""
        nought = np.zeros(1, np.int64)
        counts = [nought] * 6
        sides: list[Any] = list(counts)
        sides[axis], sides[axis + 3] = _vector(before), _vector(after)
        zero = np.zeros((), self.dtype)
        return self.apply("Pad", self.graph.join(sides, 0), zero, mode="constant")


def mean_of(values: Sequence[Value]) -> Value:
    """The mean of values that are alike."""
    return sum(values[1:], values[0]) / float(len(values))


def _vector(size: "Value | int") -> "Value | np.ndarray":
    return size if isinstance(size, Value) else np.array([size], np.int64)


def _described(name: str, dtype: Any, shape: Sequence[str | int]) -> Any:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, list(shape))

"""Structs in Thrift's compact protocol, which Parquet describes its pages and columns with."""

from collections.abc import Callable
from typing import Any

MAX_DEPTH = 8

Bytes = Any
"""Whatever can be indexed and cut like bytes: a memoryview or a mapped file."""

Fields = dict[int, Any]
"""Field id → number, text, list or nested fields."""


class ThriftReader:
    """Reads structs of a buffer one after the other.

    Args:
        data: The buffer.
        at: Where the first struct begins.
        values: How many values may be read: a byte of the buffer can stand for a whole struct.
    """

    def __init__(self, data: Bytes, at: int, values: int) -> None:
        self.data = data
        self.at = at
        self.values = values

    def struct(self, depth: int = 0) -> Fields:
        """The next struct.

        Raises:
            ValueError: If the bytes are no struct, or it has too many values or levels.
            LookupError: If the buffer ends too early.
        """
        if depth > MAX_DEPTH:
            raise ValueError("too many levels")
        fields: Fields = {}
        field_id = 0
        while (head := self._byte()) != 0:
            field_id = field_id + (head >> 4) if head >> 4 else self._integer()
            fields[field_id] = self._value(head & 0x0F, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self.values -= 1
        if self.values < 0:
            raise ValueError("too many values")
        if kind in (1, 2):
            return kind == 1
        read = READERS.get(kind)
        if read is None:
            raise ValueError(f"no value of Thrift type {kind}")
        return read(self, depth + 1)

    def _byte(self) -> int:
        value: int = self.data[self.at]
        self.at += 1
        return value

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number of more than 64 bits")

    def _integer(self, _depth: int = 0) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _text(self, _depth: int) -> bytes:
        return self._taken(self._unsigned())

    def _taken(self, size: int) -> bytes:
        content = bytes(self.data[self.at : self.at + size])
        if len(content) < size:
            raise IndexError("the buffer ends too early")
        self.at += size
        return content

    def _list(self, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise ValueError("too many levels")
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        return [self._item(head & 0x0F, depth) for _ in range(size)]

    def _map(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError("too many levels")
        size = self._unsigned()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._item(kinds >> 4, depth)
            self._item(kinds & 0x0F, depth)

    def _item(self, kind: int, depth: int) -> Any:
        """A member of a list; a boolean, which a field has in its head, is a byte here."""
        return self._value(3 if kind in (1, 2) else kind, depth)


READERS: dict[int, Callable[[ThriftReader, int], Any]] = {
    3: lambda reader, _: reader._byte(),
    4: ThriftReader._integer,
    5: ThriftReader._integer,
    6: ThriftReader._integer,
    7: lambda reader, _: reader._taken(8),
    8: ThriftReader._text,
    9: ThriftReader._list,
    10: ThriftReader._list,
    11: ThriftReader._map,
    12: ThriftReader.struct,
}
"""What reads a value of each Thrift type; booleans, 1 and 2, are told by the type itself."""

"""JSON documents cost what their size allows, and a changed one is known."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.documents import parse_json, parse_object, sealed, unsealed

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name != "sha256"), VALUES, max_size=4
)


@given(OBJECTS)
def test_what_is_sealed_is_read_back_from_its_bytes(content):
    assert unsealed(parse_object(json.dumps(sealed(content)).encode())) == content


@given(OBJECTS, st.data())
def test_no_changed_byte_changes_what_is_read(content, data):
    payload = bytearray(json.dumps(sealed(content)).encode())
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = unsealed(parse_object(bytes(payload)))
    except ValueError:
        return
    assert found == content


@pytest.mark.parametrize(
    "payload",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"[" + b"{}," * 1_000_000 + b"{}]",
        b"9" * 5000,
        b"",
        b"\xff\xfe",
        b"{]",
    ],
    ids=["deep lists", "deep objects", "many objects", "digits", "nothing", "no text", "no JSON"],
)
def test_what_is_no_document_is_one_error(payload):
    with pytest.raises(ValueError):
        parse_json(payload)


@pytest.mark.parametrize("payload", [b"[]", b"1", b"null", b'"x"'])
def test_an_object_is_an_object(payload):
    with pytest.raises(ValueError, match="no object"):
        parse_object(payload)

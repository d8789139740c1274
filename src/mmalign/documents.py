"""JSON documents: parsed within what their size allows, and sealed by a hash of their content."""

import hashlib
import json
from typing import Any

from mmalign.allowance import memory_allowed

SEAL = "sha256"
COSTS = ((b"{", 232), (b"[", 88), (b",", 40), (b'"', 28))
"""Bytes of memory that each of these characters may stand for."""


def parse_json(payload: bytes) -> Any:
    """The value of a JSON document.

    Raises:
        ValueError: If it is none, is nested too deeply, or takes more memory than its size allows.
    """
    needed = 4 * len(payload) + sum(size * payload.count(sign) for sign, size in COSTS)
    if needed > memory_allowed(len(payload)):
        raise ValueError("far more values than its size allows")
    try:
        return json.loads(payload)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_object(payload: bytes) -> dict[str, Any]:
    """The object that a JSON document holds.

    Raises:
        ValueError: If it holds something else, or is no such document.
    """
    content = parse_json(payload)
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with a hash of itself.

    >>> unsealed(sealed({"a": 1}))
    {'a': 1}
    """
    plain = json.loads(json.dumps(content, allow_nan=False))
    return {**plain, SEAL: _digest(plain)}


def unsealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content that `sealed` took.

    Raises:
        ValueError: If it is not as it was sealed.
    """
    if SEAL not in content:
        raise ValueError("it has no hash of its content: damaged, or of an older version")
    plain = {name: value for name, value in content.items() if name != SEAL}
    if content.get(SEAL) != _digest(plain):
        raise ValueError("its content is not what was written")
    return plain


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

"""What is wrong with a JSON body, in words of ours: the parser's speak of types."""

from collections.abc import Mapping
from typing import Any

WORDS: Mapping[str, str] = {
    "missing": "missing",
    "dict_type": "expected an object in braces",
    "list_type": "expected a list",
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "less_than_equal": "too large: numbers are float32",
    "greater_than_equal": "too small: numbers are float32",
    "string_type": "expected text",
    "string_too_long": "longer than {max_length} characters",
    "bool_type": "expected true or false",
    "greater_than": "expected a number above {gt:g}",
    "too_short": "too short: expected {min_length} or more",
    "too_long": "too long: expected {max_length} at most",
    "extra_forbidden": "unknown field",
}
"""By pydantic's type of the error, with what it tells beside it."""

OTHERWISE = "not as expected; GET /openapi.json describes what is"


def in_words(error: Mapping[str, Any]) -> str:
    """One error of pydantic's, without a full stop.

    >>> in_words({"type": "string_too_long", "ctx": {"max_length": 200}})
    'longer than 200 characters'
    >>> in_words({"type": "list_type"})
    'expected a list'
    """
    return WORDS.get(error["type"], OTHERWISE).format(**error.get("ctx", {}))

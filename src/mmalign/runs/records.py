"""JSON files of a run: replaced atomically, and without NaN, which JSON does not know."""

import json
import re
from pathlib import Path
from typing import Any

from mmalign.documents import parse_object, sealed, unsealed
from mmalign.errors import CorruptArtifactError, MMAlignError
from mmalign.files import read_regular, write_atomically

METRICS = "metrics.jsonl"

FINGERPRINT = re.compile("[0-9a-f]{64}")


def write_json(file: Path, content: Any) -> None:
    """Replace a JSON file."""
    text = json.dumps(without_nan(content), indent=2, allow_nan=False)
    write_atomically(file, (text + "\n").encode())


def read_json(file: Path, *, fix: str) -> dict[str, Any]:
    """The object in a JSON file.

    Args:
        file: What to read.
        fix: What to do if it is damaged.

    Raises:
        MMAlignError: If it cannot be read, or holds no object.
    """
    try:
        return parse_object(read_regular(file))
    except (OSError, ValueError) as error:
        raise MMAlignError(f"{file}: not readable ({error}). {fix}") from error


def write_sealed(file: Path, content: dict[str, Any]) -> None:
    """Replace a JSON file by one that also holds a hash of its content."""
    write_json(file, sealed(without_nan(content)))


def read_sealed(file: Path, *, fix: str) -> dict[str, Any]:
    """What `write_sealed` wrote.

    Raises:
        MMAlignError: If it cannot be read, or is not what was written.
    """
    try:
        return unsealed(read_json(file, fix=fix))
    except ValueError as error:
        raise CorruptArtifactError(f"{file}: not readable ({error}). {fix}") from error


def write_json_lines(file: Path, records: list[dict[str, Any]]) -> None:
    """Replace a file of one JSON object a line."""
    lines = (json.dumps(without_nan(record), allow_nan=False) + "\n" for record in records)
    write_atomically(file, "".join(lines).encode())


def without_nan(content: Any) -> Any:
    """The same content with null in place of NaN."""
    if isinstance(content, dict):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and content != content else content


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """What changed, key by key."""
    changes = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            changes += differences(before, after, f"{prefix}{key}.")
        elif before != after:
            changes.append(f"{prefix}{key} was {_brief(before)}, is {_brief(after)}")
    return changes


def _brief(value: Any) -> str:
    """The value; of a fingerprint, which nobody reads, just enough to tell it from another."""
    is_fingerprint = isinstance(value, str) and FINGERPRINT.fullmatch(value)
    return f"{value[:8]}…" if is_fingerprint else repr(value)

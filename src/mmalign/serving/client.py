"""A client of the service: clips in, answers out, over one connection."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from jaxtyping import Shaped
from safetensors.numpy import save

from mmalign.data.intake import Clips, gathered
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.data.task import Regression
from mmalign.data.widths import require_any
from mmalign.documents import parse_object
from mmalign.errors import ConfigError, MMAlignError

LONGEST_PAUSE = 60
LENGTHS = ".lengths"
BINARY = "application/vnd.safetensors"


class ServiceError(MMAlignError):
    """The service refused, or could not be reached.

    Args:
        message: What it said.
        status: The HTTP status; 0 if there was no answer.
        code: One word that programs can rely on.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "unreachable") -> None:
        self.status = status
        self.code = code
        super().__init__(message)


@dataclass(frozen=True)
class Answer:
    """What the model says of one clip.

    Attributes:
        id: Of the clip.
        prediction: The class, or the number.
        probabilities: By class; none for numbers.
        used: Modalities that were there.
        missing: Modalities that were not.
        imputed: Those of them that were imputed; others are left out of the answer.
        gaps: Missing steps inside what was there.
        plans: The model's plans, if they were asked for.
    """

    id: str
    prediction: str | float
    probabilities: Mapping[str, float] | None
    used: Sequence[str]
    missing: Sequence[str]
    imputed: Sequence[str]
    gaps: Mapping[str, int] = field(default_factory=dict)
    plans: Sequence[Mapping[str, Any]] | None = None


class Client:
    """Asks a running `mmalign serve`; not to be shared between threads.

    Args:
        url: Where it listens.
        timeout: Seconds to wait for an answer.
        retries: How often to ask again when the service is busy or the connection broke.

    >>> Client("http://127.0.0.1:8000")
    Client('http://127.0.0.1:8000')
    """

    def __init__(self, url: str, *, timeout: float = 30.0, retries: int = 3) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port if parts.scheme in ("http", "https") and parts.hostname else -1
        except ValueError:  # a port that there cannot be
            port = -1
        if port == -1:
            raise ConfigError(f"{url!r} is not an address; give one such as http://127.0.0.1:8000")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(str(parts.hostname), port, timeout=timeout)
        self._prefix = parts.path.rstrip("/")
        self._retries = retries
        self.url = url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    @cached_property
    def model(self) -> dict[str, Any]:
        """What the model reads and predicts, its card, and the limits of the service.

        Raises:
            ServiceError: If the service cannot be reached.
        """
        return self._ask("GET", "/v1/model")

    def predict(self, clips: Clips, *, plans: bool = False) -> list[Answer]:
        """One answer a clip, in order; clips are what `MMAlign.predict` takes.

        Modalities that the model does not read are not sent.

        Raises:
            DataError: If these are no clips, or one has none of the model's modalities, or has one
                under a misspelt name.
            ServiceError: If the service refuses, stays busy, or cannot be reached.
        """
        names, most = self._takes()
        split = _split(clips, names)
        require_any(split, names)
        answers = []
        for start in range(0, len(split), most):
            part = split.select(range(start, min(start + most, len(split))))
            body = to_body(part, plans=plans)
            found = self._ask("POST", "/v1/predict", body, {"Content-Type": BINARY})
            with _understood():
                answers += [
                    Answer(**{**answer, "id": clip_id})
                    for answer, clip_id in zip(found["answers"], part.ids, strict=True)
                ]
        return answers

    def _takes(self) -> tuple[list[str], int]:
        """The modalities that the model reads, and the most clips of a request."""
        with _understood():
            return list(self.model["modalities"]), max(1, int(self.model["limits"]["max_clips"]))

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The service's answer; asks again while it is busy.

        Raises:
            ServiceError: If it refuses, stays busy, or cannot be reached.
        """
        for left in reversed(range(self._retries + 1)):
            try:
                self._connection.request(method, self._prefix + path, body, dict(headers or {}))
                answer = self._connection.getresponse()
                status, content = answer.status, answer.read()
            except (OSError, HTTPException) as error:
                self._connection.close()
                if not left:
                    raise self._unreachable(error) from error
                continue
            if status == 503 and left:
                time.sleep(_pause(answer.headers.get("Retry-After", "")))
                continue
            return _content(status, content)
        raise ServiceError(f"{self.url}: no answer")

    def _unreachable(self, error: Exception) -> ServiceError:
        told = error or type(error).__name__
        return ServiceError(f"{self.url}: {told}. Check that mmalign serve is running there.")


def _pause(told: str) -> float:
    """Seconds to wait before asking again; a proxy may tell a date, or an hour."""
    return min(int(told), LONGEST_PAUSE) if told.isdecimal() else 1.0


@contextmanager
def _understood(status: int = 200) -> Iterator[None]:
    """Read an answer, which need not be our service's.

    Raises:
        ServiceError: If it is not what the service would say.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        told = f"status {status}, and no answer of mmalign's: is something else there?"
        raise ServiceError(told, status=status, code="strange") from error


def _content(status: int, content: bytes) -> dict[str, Any]:
    with _understood(status):
        found = parse_object(content)
        if status == 200:
            return found
        error = found.get("error") or {}
        message, code = error.get("message", f"status {status}"), error.get("code", "refused")
    raise ServiceError(message, status=status, code=code)


def _split(clips: Clips, names: list[str]) -> Split:
    rows = gathered(clips)
    require_known(rows, names)
    if isinstance(rows, Split):
        return rows.only([name for name in names if name in rows.sequences])
    plain = [replace(clip, label=None) for clip in rows]
    there = [name for name in names if any(name in clip.sequences for clip in plain)]
    return Split.from_clips(plain, there, Regression())


def to_body(split: Split, *, plans: bool = False) -> bytes:
    """The clips as the body of a request; ids stay here, where answers come back in order.

    >>> clip = Split(("a",), None, {"wrist": [np.zeros((2, 3), np.float32)]})
    >>> len(to_body(clip)) > 24
    True
    """
    metadata = {"plans": "true"} if plans else None
    return bytes(save(dict(_tensors(split)), metadata))


def _tensors(split: Split) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    for name, column in split.sequences.items():
        there = [steps for steps in column if steps is not None]
        if there:
            yield name, np.ascontiguousarray(np.concatenate(there), np.float32)
            yield f"{name}{LENGTHS}", split.lengths(name)

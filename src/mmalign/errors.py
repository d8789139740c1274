"""One exception family: every message says what is wrong, where, and what to do."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mmalign.allowance import MESSAGE_CHARACTERS
from mmalign.spelling import meant

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, breaks of lines, turns of direction, halves of characters: nothing of a name."""


def shown(text: str, most: int = MESSAGE_CHARACTERS) -> str:
    r"""The text on one line that a terminal only shows, its middle cut out if it is long.

    >>> shown("b\x1b]0;HACK\x07"), shown("x" * 99, most=20)
    ('b\\x1b]0;HACK\\x07', 'xxxxxxxx … xxxxxxxx')
    """
    if len(text) > most:
        half = (most - 3) // 2
        text = f"{text[:half]} … {text[-half:]}"
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "clip"), counted(2, "clip")
    ('1 clip', '2 clips')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_memory_exhausted(error: BaseException) -> bool:
    """Whether memory was asked for that is not there; torch raises no error of its own for it.

    >>> is_memory_exhausted(MemoryError()), is_memory_exhausted(RuntimeError("shapes differ"))
    (True, False)
    """
    told = str(error)
    is_torch = "can't allocate memory" in told or "out of memory" in told
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and is_torch)


class MMAlignError(Exception):
    """Base of every error that mmalign raises on purpose; the shell answers it with exit code 2.

    Names and values of a file may be part of a message: it stays one line of bounded length.
    """

    def __str__(self) -> str:
        return shown(super().__str__())


class ConfigError(MMAlignError):
    """Settings that make no sense; all problems are listed at once."""

    def __init__(self, problems: str | list[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else problems
        super().__init__("; ".join(self.problems))


class AlignmentError(MMAlignError, ValueError):
    """An alignment problem that has no answer: bad shapes, lengths, window or epsilon."""


class DataError(MMAlignError):
    """Data that cannot be used, with the place where it was found and a way out."""

    PLACES = ("file", "split", "clip", "modality", "step", "feature")

    def __init__(
        self,
        problem: str,
        *,
        fix: str = "",
        file: str | Path | None = None,
        split: str | None = None,
        clip: str | None = None,
        modality: str | None = None,
        step: int | None = None,
        feature: int | None = None,
    ) -> None:
        self.problem = problem
        self.fix = fix
        self.file = str(file) if file is not None else None
        self.split = split
        self.clip = clip
        self.modality = modality
        self.step = step
        self.feature = feature
        super().__init__(problem)

    def located(self, **place: str | Path | int | None) -> "DataError":
        """The same error with places filled in that were not known where it was raised."""
        for name, value in place.items():
            if getattr(self, name) is None and value is not None:
                setattr(self, name, str(value) if name == "file" else value)
        return self

    @property
    def place(self) -> str:
        """Where it is, from the file down to the feature, as far as known."""
        known = ((name, getattr(self, name)) for name in self.PLACES)
        return ", ".join(f"{name} {value}" for name, value in known if value is not None)

    def __str__(self) -> str:
        text = f"{self.place}: {self.problem}" if self.place else self.problem
        room = MESSAGE_CHARACTERS - len(self.fix)
        told = shown(text, most=max(room, 100))
        stop = "" if told.endswith("?") else "."
        return shown(f"{told}{stop} {self.fix}" if self.fix else text)


class MissingVectorsError(DataError):
    """Words that cannot be read as numbers without a file of vectors: no fault of their file."""


class _Located:
    """Fills places in where a DataError passes through."""

    def __init__(self, place: dict[str, str | Path | int | None]) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DataError):
            error.located(**self._place)


def located(**place: str | Path | int | None) -> _Located:
    """Tell where the errors of a `with` block happen.

    >>> with located(split="test"):
    ...     raise DataError("no labels", fix="Give each clip one.")
    Traceback (most recent call last):
    ...
    mmalign.errors.DataError: split test: no labels. Give each clip one.
    """
    return _Located(place)


def damaged(problem: str, **place: Any) -> DataError:
    """Make the error for a file that is not as it was written."""
    return DataError(
        problem, fix="The file may be truncated or damaged; copy or convert it again.", **place
    )


def suggestion(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name that is not known.

    >>> suggestion("windw", ["window", "epsilon"]), suggestion("x", ["window", "epsilon"])
    ("did you mean 'window'?", 'there are window, epsilon')
    """
    names = list(known)
    near = meant(name, names)
    return f"there are {', '.join(names)}" if near is None else f"did you mean {near!r}?"


def no_modality(name: str, known: Iterable[str], whose: str = "These clips have") -> DataError:
    """Make the error for a modality that is not there; it says which one was probably meant.

    >>> str(no_modality("wrsit", ["pose", "wrist"]))
    "there is no modality 'wrsit'. Did you mean 'wrist'? These clips have pose, wrist."
    """
    names = list(known)
    near = meant(name, names)
    hint = "" if near is None else f"Did you mean {near!r}? "
    return DataError(f"there is no modality {name!r}", fix=f"{hint}{whose} {', '.join(names)}.")


class CorruptArtifactError(MMAlignError):
    """A file of ours whose bytes are not the bytes that were written."""

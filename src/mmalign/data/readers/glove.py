"""Word vectors in text files: a word and its numbers on each line (GloVe, word2vec, fastText)."""

from collections.abc import Collection, Iterator

import numpy as np
from jaxtyping import Float32

from mmalign.errors import DataError, damaged
from mmalign.progress import track

BLOCK_BYTES = 1 << 24
MAX_LINE_BYTES = 1 << 20


def read_glove(
    data: memoryview, vocabulary: Collection[str]
) -> tuple[list[str], Float32[np.ndarray, "rows dim"]]:
    """Vectors of the words in the vocabulary, as written or in lower case.

    Raises:
        DataError: If the file is no such text, or knows none of the words.
    """
    wanted = {form.encode() for word in vocabulary for form in (word, word.lower())}
    found: dict[bytes, Float32[np.ndarray, " dim"]] = {}
    dim = 0
    for number, line in enumerate(_lines(data)):
        word, _, numbers = line.rstrip().partition(b" ")
        if number == 0 or (number == 1 and dim < 2):  # word2vec's first line holds two counts
            dim = numbers.count(b" ") + 1
            found.clear()  # what was taken for a word and its one number
        # A few words of GloVe's largest file contain spaces; none of ours do.
        if word in wanted and word not in found and numbers.count(b" ") + 1 == dim:
            found[word] = _parse(numbers, number)
    if dim < 2 or not found:
        raise DataError(
            "none of the words has a vector in this file",
            fix="Expected one word and its numbers on each line, as in glove.840B.300d.txt.",
        )
    return [word.decode() for word in found], np.stack(list(found.values()))


def _parse(numbers: bytes, line: int) -> Float32[np.ndarray, " dim"]:
    try:
        return np.array(numbers.split(b" "), dtype=np.float32)
    except ValueError as error:
        raise damaged(f"line {line + 1} does not hold numbers") from error


def _lines(data: memoryview) -> Iterator[bytes]:
    """The lines of the buffer; GloVe's files are larger than memory."""
    rest = b""
    starts = range(0, len(data), BLOCK_BYTES)
    for start in track(starts, "reading word vectors"):
        *whole, rest = (rest + bytes(data[start : start + BLOCK_BYTES])).split(b"\n")
        yield from whole
        if len(rest) > MAX_LINE_BYTES:
            raise damaged("not a text file of word vectors: a line has more than a megabyte")
    if rest:
        yield rest

"""The standard folds of CMU-MOSI and CMU-MOSEI, as the SDK publishes them, by video id."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def standard_folds() -> dict[str, dict[str, str]]:
    """Corpus → video id → split."""
    folds: dict[str, dict[str, str]] = {}
    corpus = split = ""
    for line in (files(__package__) / "folds.txt").read_text().splitlines():
        if not line.startswith(" "):
            corpus, split = line.split()
            folds.setdefault(corpus, {})
        else:
            folds[corpus].update(dict.fromkeys(line.split(), split))
    return folds


def video_of(clip_id: str) -> str:
    """The video a clip was cut from: `vid[3]`, `vid$_$3` and `vid` name the same.

    >>> video_of("03bSnISJMiM[0]"), video_of("03bSnISJMiM$_$1")
    ('03bSnISJMiM', '03bSnISJMiM')
    """
    return clip_id.split("[")[0].split("$_$")[0]


def corpus_of(videos: Iterable[str]) -> str | None:
    """The corpus that more than half of the videos belong to."""
    known = set(videos)
    for corpus, folds in standard_folds().items():
        if known and 2 * sum(video in folds for video in known) > len(known):
            return corpus
    return None

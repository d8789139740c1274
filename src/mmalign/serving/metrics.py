"""Counters of the service, in Prometheus' text format."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from mmalign.serving.asking import PlainAnswer

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Histogram:
    """Counts of values up to each bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = (*bounds, math.inf)
        self._counts = [0] * len(self._bounds)
        self._total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def lines(self, name: str) -> list[str]:
        """The histogram in Prometheus' words."""
        lines, below = [], 0
        for bound, count in zip(self._bounds, self._counts, strict=True):
            below += count
            shown = "+Inf" if bound == math.inf else f"{bound:g}"
            lines.append(f'{name}_bucket{{le="{shown}"}} {below}')
        return [*lines, f"{name}_sum {self._total:.9g}", f"{name}_count {below}"]


class Metrics:
    """What the service has done so far.

    Args:
        modalities: Of the model.
        waiting: Tells how many clips wait.
    """

    def __init__(self, modalities: Iterable[str], waiting: Callable[[], int]) -> None:
        self._waiting = waiting
        self._requests = Counter[tuple[str, int]]()
        self._clips = 0
        self._missing = Counter[str](dict.fromkeys(modalities, 0))
        self._gapped = Counter[str](dict.fromkeys(modalities, 0))
        self._seconds = Histogram(SECONDS)
        self._sizes = Histogram(SIZES)
        self.streams = 0

    def count_request(self, route: str, status: int) -> None:
        """Count a request by what became of it."""
        self._requests[route, status] += 1

    def count_answers(self, answers: Sequence[PlainAnswer], seconds: float) -> None:
        """Count answered clips, and what they lacked."""
        self._clips += len(answers)
        self._seconds.add(seconds)
        for answer in answers:
            self._missing.update(answer["missing"])
            self._gapped.update(answer["gaps"].keys())

    def count_batch(self, clips: int) -> None:
        """Count a batch by its size."""
        self._sizes.add(clips)

    def text(self) -> str:
        """All metrics, as `GET /metrics` answers."""
        requests = {
            f'route="{route}",status="{status}"': count
            for (route, status), count in sorted(self._requests.items())
        }
        missing = {f'modality="{_quoted(m)}"': n for m, n in self._missing.items()}
        gapped = {f'modality="{_quoted(m)}"': n for m, n in self._gapped.items()}
        lines = [
            *_family("mmalign_requests_total", "counter", "Requests by status.", requests),
            *_family("mmalign_clips_total", "counter", "Clips answered.", {"": self._clips}),
            *_family(
                "mmalign_clips_missing_total", "counter", "Clips without a modality.", missing
            ),
            *_family("mmalign_clips_gapped_total", "counter", "Clips with a gap in it.", gapped),
            *_family("mmalign_queue_clips", "gauge", "Clips waiting.", {"": self._waiting()}),
            *_family("mmalign_streams", "gauge", "Open stream sessions.", {"": self.streams}),
            *_head("mmalign_predict_seconds", "histogram", "Time from request to answer."),
            *self._seconds.lines("mmalign_predict_seconds"),
            *_head("mmalign_batch_clips", "histogram", "Clips computed at once."),
            *self._sizes.lines("mmalign_batch_clips"),
        ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _family(name: str, kind: str, about: str, values: Mapping[str, int]) -> list[str]:
    rows = [f"{name}{{{labels}}} {n}" if labels else f"{name} {n}" for labels, n in values.items()]
    return [*_head(name, kind, about), *rows]


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

"""The ridge expert: fixed random features of a sequence, weighted in closed form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from mmalign.data.clip import Steps
from mmalign.data.inputs import Inputs, Sense, fit_inputs, step_gain
from mmalign.data.names import under
from mmalign.data.packed import Packed, packed
from mmalign.experts.contract import Evidence, Expert, Lesson
from mmalign.experts.patterns import Patterns, fit_patterns
from mmalign.experts.ridge import PENALTIES, Fit, Ridge, fit_ridge
from mmalign.experts.windows import WIDTHS, Windows, draw_windows

PATTERNS, DETECTORS = 4000, 500
FEW, ENOUGH = 4, 1000
"""A choice between senses takes a quarter of the features, half of the penalties, so many clips."""
ALIKE = 1.1
"""Channels whose scales differ by less than this factor could as well share one."""
CLEARLY = 0.95
"""Windows are left out where that brings the error below this share of what it was."""
CLEAR = 0.975
"""How sure it must be that keeping a clip's own mean is better, by a t-test over groups."""
LEAD = 1e-6
"""A class is named if its score is more than so much above all others: ties are not answers."""
MANY_GROUPS = 20
"""So many people or videos tell what a clip's own mean will be for the next one."""

Tried = tuple[Fit, tuple[Sense, int]]
"""A fit, and the sense and number of pattern features that it was made with."""


class RidgeExpert(Expert):
    """Pattern features on the channels' own scales and on a common one, and random windows.

    Where both scales are the same, patterns of more dilations take the place of the second bank.

    Args:
        patterns: About how many pattern features; 0 for none, as suits short lists of words.
        detectors: Random windows of each width.
        penalties: To choose from.
    """

    def __init__(
        self,
        patterns: int = PATTERNS,
        detectors: int = DETECTORS,
        penalties: Float64[np.ndarray, " penalties"] = PENALTIES,
    ) -> None:
        self.patterns = patterns
        self.detectors = detectors
        self.penalties = penalties

    def fit(self, lesson: Lesson, sense: Sense) -> None:
        """Draw features, and weigh them."""
        rng = np.random.default_rng(lesson.seed)
        scales = (sense.own_scale, not sense.own_scale)
        self.inputs = [fit_inputs(lesson.clips, centre=sense.centre, own_scale=s) for s in scales]
        seen = [inputs(lesson.clips) for inputs in self.inputs]
        channels = seen[0][0].shape[1]
        banks = 1 if channels == 1 else 2  # one channel has one scale, its own and the common one
        each = self.patterns // banks
        self.banks = [fit_patterns(s, features=each, rng=rng) for s in seen[:banks] if each]
        self.windows = draw_windows(channels, detectors=self.detectors, rng=rng)
        self.has_windows = sense.windows
        self.motion_gain = step_gain(seen[0]) if sense.motion else 0.0
        self.motion = draw_windows(channels, detectors=self.detectors, rng=rng)
        features = self._features(seen)
        self.found: Fit = fit_ridge(features, lesson.targets(), lesson.groups, self.penalties)
        self.ridge = self.found.ridge

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Scores of the classes around -1 and 1, or a number."""
        given = packed(clips)
        features = self._features([inputs(given) for inputs in self.inputs])
        features -= self.ridge.mean
        return self.ridge.predict_centred(features)

    def _features(self, seen: list[Packed]) -> Float32[np.ndarray, "clips features"]:
        pairs = zip(self.banks, seen, strict=False)  # no banks, no patterns
        parts: list[tuple[Patterns | Windows, Packed]] = list(pairs)
        if self.has_windows:
            parts.append((self.windows, seen[0]))
        if self.motion_gain:
            changes = np.float32(self.motion_gain) * seen[0].changes()
            parts.append((self.motion, seen[0].with_rows(changes)))
        starts = np.cumsum([0, *(kind.features for kind, _ in parts)]).tolist()
        found = np.empty((len(seen[0]), starts[-1]), np.float32)
        for (kind, clips), start in zip(parts, starts, strict=False):
            kind.fill(clips, found, start)
        return found

    def state(self) -> dict[str, np.ndarray]:
        """Inputs, banks, windows and weights."""
        found: dict[str, np.ndarray] = {"patterns": np.array(self.patterns)}
        for number, inputs in enumerate(self.inputs):
            found |= {f"inputs/{number}/{k}": np.asarray(v) for k, v in vars(inputs).items()}
        for number, bank in enumerate(self.banks):
            found |= {f"banks/{number}/{k}": v for k, v in asdict(bank).items()}
        for kind, windows in (("windows", self.windows), ("motion", self.motion)):
            found |= {f"{kind}/{n}": weights for n, weights in enumerate(windows.weights)}
            found[f"{kind}/biases"] = windows.biases
        found["motion/gain"] = np.array(self.motion_gain)
        if not self.has_windows:
            found["windows/left_out"] = np.array(1.0)
        return found | {f"ridge/{name}": array for name, array in asdict(self.ridge).items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave."""
        self.patterns = int(state["patterns"].item())
        self.inputs = [
            Inputs(bool(part["centre"].item()), part["mean"], part["scale"])
            for part in (under(state, f"inputs/{n}/") for n in range(2))
        ]
        stored = (under(state, f"banks/{number}/") for number in range(2))
        self.banks = [Patterns(**bank) for bank in stored if bank]
        self.windows, self.motion = (_windows(under(state, f"{k}/")) for k in ("windows", "motion"))
        self.motion_gain = float(state["motion/gain"].item())
        self.has_windows = "windows/left_out" not in state
        self.detectors = self.windows.biases.shape[1]
        self.ridge = Ridge(**under(state, "ridge/"))


def choose_sense(lesson: Lesson, *, smooth: bool) -> tuple[Sense, int]:
    """The sense, and how many pattern features, that do best on clips that were left out.

    What is left out is one group at a time, or one clip where no groups are known. A quarter of the
    features and some hundred clips are enough to tell. What the lesson gives is not chosen.

    Of a signal whose groups are known, clips lose their own mean unless they clearly do better with
    it: where somebody stood or how a watch was worn is much of that mean, and a few people cannot
    tell what it will be for the next one. Many people or videos can: there is no doubt to give. Nor
    where centred clips tell no more than a constant would.
    """
    lesson, given = _shortened(lesson), lesson.given
    tried = [(_tried(lesson, *choice), choice) for choice in _candidates(lesson, smooth)]
    if smooth and lesson.groups is not None and "centre" not in given:
        tried = _centred_in_doubt(lesson, lesson.groups, tried)
    # The first of equals: the plainer choice comes first.
    found, (sense, patterns) = max(tried, key=lambda one: _skill(lesson, one[0]))
    if smooth and "motion" not in given:
        moving = replace(sense, motion=True)
        found_moving = _tried(lesson, moving, patterns)
        if _skill(lesson, found_moving) > _skill(lesson, found):
            found, sense = found_moving, moving
    if patterns and "windows" not in given:
        # With few clips, windows that tell nothing drown the patterns that do.
        lean = replace(sense, windows=False)
        error = _tried(lesson, lean, patterns).error(lesson.targets())
        sense = lean if error < CLEARLY * found.error(lesson.targets()) else sense
    return sense, patterns


def _centred_in_doubt(
    lesson: Lesson, groups: Int64[np.ndarray, " clips"], tried: Sequence[Tried]
) -> list[Tried]:
    """Those that centre clips, unless others do clearly better; all where there is no doubt."""
    from scipy.special import stdtrit  # which predictions need not wait for

    present = np.unique(groups)
    if len(present) >= MANY_GROUPS:
        return list(tried)
    centred = [one for one in tried if one[1][0].centre]
    others = [one for one in tried if not one[1][0].centre]
    best, other = (max(some, key=lambda one: _skill(lesson, one[0])) for some in (centred, others))
    if -_skill(lesson, best[0]) >= _constant_loss(lesson):
        return list(tried)
    gains = _losses(lesson, best[0]) - _losses(lesson, other[0])
    # Clips of one person are alike: what people differ by says how sure this is.
    means = np.array([gains[groups == group].mean() for group in present])
    error = float(means.std(ddof=1)) / len(means) ** 0.5
    return others if float(means.mean()) > stdtrit(len(means) - 1, CLEAR) * error else centred


def is_wrong(said: Evidence, labels: Int64[np.ndarray, " clips"]) -> Bool[np.ndarray, " clips"]:
    """Whether no class, or another than a clip's own, leads by more than rounding.

    >>> is_wrong(np.array([[0.2, 0.1], [0.1, 0.1]]), np.array([0, 0])).tolist()
    [False, True]
    """
    each = np.arange(len(labels))
    others = said.copy()
    others[each, labels] = -np.inf
    return np.asarray(said[each, labels] <= others.max(axis=1) + LEAD)


def _windows(state: dict[str, np.ndarray]) -> Windows:
    return Windows(tuple(state[str(number)] for number in range(len(WIDTHS))), state["biases"])


def _shortened(lesson: Lesson) -> Lesson:
    """The lesson, or a random part of it where there are many clips."""
    if len(lesson.clips) <= ENOUGH:
        return lesson
    rows = np.sort(np.random.default_rng(lesson.seed).permutation(len(lesson.clips))[:ENOUGH])
    return lesson.part(rows)


def _candidates(lesson: Lesson, smooth: bool) -> Iterator[tuple[Sense, int]]:
    given = lesson.given
    motion, windows = given.get("motion", False), given.get("windows", True)
    plain = Sense(centre=False, own_scale=False, smooth=smooth, motion=motion, windows=windows)
    for patterns in _pattern_counts(given, may_lack=not smooth and (motion or windows)):
        for centre in _either("centre", given):
            scales = _either("own_scale", given)
            if "own_scale" not in given and not _scales_differ(lesson, centre=centre):
                scales = (False,)
            for own_scale in scales:
                yield replace(plain, centre=centre, own_scale=own_scale), patterns


def _pattern_counts(given: Mapping[str, bool], *, may_lack: bool) -> tuple[int, ...]:
    if "patterns" in given:
        return (PATTERNS if given["patterns"] else 0,)
    return (0, PATTERNS) if may_lack else (PATTERNS,)


def _either(name: str, given: Mapping[str, bool]) -> tuple[bool, ...]:
    return (given[name],) if name in given else (False, True)


def _scales_differ(lesson: Lesson, *, centre: bool) -> bool:
    scale = fit_inputs(lesson.clips, centre=centre, own_scale=True).scale
    return float(scale.max()) > ALIKE * float(scale.min())


def _tried(lesson: Lesson, sense: Sense, patterns: int) -> Fit:
    expert = RidgeExpert(patterns // FEW, DETECTORS // FEW, PENALTIES[::2])
    expert.fit(lesson, sense)
    return expert.found


def _skill(lesson: Lesson, found: Fit) -> float:
    """Share of right classes, or minus the squared error, on clips that were left out."""
    return -float(_losses(lesson, found).mean())


def _constant_loss(lesson: Lesson) -> float:
    """Share of wrong classes, or the squared error, of the commonest class or the mean."""
    if lesson.outputs > 1:
        return 1.0 - float(np.bincount(lesson.labels).max()) / len(lesson.labels)
    return float(np.var(lesson.labels))


def _losses(lesson: Lesson, found: Fit) -> Float64[np.ndarray, " clips"]:
    """Of each clip when it is left out: 1 for a wrong class, or the squared error."""
    if lesson.outputs > 1:
        return np.asarray(is_wrong(found.held_out, np.asarray(lesson.labels)), np.float64)
    return np.asarray((found.held_out - lesson.targets())[:, 0] ** 2)

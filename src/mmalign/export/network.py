"""A network as a graph: all patterns at once, stand-ins chosen clip by clip."""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add, and_, or_
from typing import cast

import numpy as np

from mmalign.export.backbone import HiddenValues, answer, encoded, scaled
from mmalign.export.graph import Graph, Value, mean_of
from mmalign.export.imputers import Wanted, draws
from mmalign.export.sequences import Sequences, array, given_sequences
from mmalign.imputers.bank import CLOSED, Direction, ImputerBank
from mmalign.predictor.model import Model
from mmalign.predictor.scaler import Scaler

There = Mapping[str, Value]
"""Which clips have each modality."""


def network_outputs(graph: Graph, members: Sequence[Model], read_as: Mapping[str, str]) -> Value:
    """Raw outputs `[batch, outputs]` of the model; NaN for a clip that has not what it needs.

    Args:
        graph: Where to compute; it gets two inputs for each modality that is given.
        members: The networks whose answers are averaged; as a rule one.
        read_as: For each modality of the model, the one that is given in its place; itself, but
            for methods that see one modality twice.
    """
    first = members[0]
    dims, pair = first.features, first.pair
    given = {n: given_sequences(graph, n, dims[n]) for n in dict.fromkeys(read_as.values())}
    seen = {name: given[one] for name, one in read_as.items()}
    is_there = {name: one.is_there for name, one in seen.items()}
    answers = [_gated(model, seen, is_there) for model in members]
    outputs = answers[0] if len(answers) == 1 else _average(answers, first.backbone.outputs)
    is_known = reduce(or_, is_there.values()) if pair is None else is_there[pair.source]
    return graph.where(is_known.wider(1), outputs, np.array(np.nan, np.float32))


def _known(model: Model, modality: str, given: Sequences) -> HiddenValues:
    """Hidden sequences of a modality; of clips that lack it, something finite."""
    scaler = cast(Scaler, model.scalers[model.modalities.index(modality)])
    return encoded(model.backbone.encoder(modality), scaled(scaler, given), given)


def _gated(model: Model, seen: Mapping[str, Sequences], is_there: There) -> Value:
    """A member's answer; a pair mixes that with its victim and that without, as its gate says."""
    known = {name: _known(model, name, given) for name, given in seen.items()}
    outputs, gate = _answer(model, known, is_there), float(model.gate)
    if gate == 1.0 or model.pair is None:
        return outputs
    victim = model.pair.target
    hidden = {**is_there, victim: is_there[victim] & ~is_there[victim]}
    share = outputs.graph.where(is_there[victim].wider(1), np.array(gate, np.float32), 1.0)
    return share * outputs + (1.0 - share) * _answer(model, known, hidden)


def _answer(model: Model, known: Mapping[str, HiddenValues], is_there: There) -> Value:
    """Raw outputs; of draws, those whose probabilities or values are the mean."""
    uncertain = model.uncertain if len(model.modalities) > 1 else ()
    stand_ins = {name: _stand_ins(model, name, known, is_there) for name in uncertain}
    count = max((len(found) for found in stand_ins.values()), default=1)
    answers = []
    for draw in range(count):
        whole = dict(known)
        for name, found in stand_ins.items():
            # A stand-in of zeros comes once.
            stand_in = found[min(draw, len(found) - 1)]
            whole[name] = _filled(known[name], is_there[name], stand_in)
        answers.append(answer(model.backbone, whole))
    if count == 1:
        return answers[0]
    is_drawn = reduce(and_, (_is_drawn(model.bank, n, is_there) for n in uncertain))
    mean = _average(answers, model.backbone.outputs)
    return mean.graph.where(is_drawn.wider(1), mean, answers[0])


def _average(answers: list[Value], outputs: int) -> Value:
    """As `mmalign.predictor.model.average_answers`."""
    if outputs == 1:
        return mean_of(answers)
    shares = [one.apply("LogSoftmax", axis=-1).wider(0) for one in answers]
    together = shares[0].graph.join(shares, 0)
    return together.apply("ReduceLogSumExp", np.array([0]), keepdims=0) - math.log(len(answers))


def _is_drawn(bank: ImputerBank, target: str, is_there: There) -> Value:
    """Clips that have the target, or a source that it is imputed from."""
    sources = [is_there[source] for source, goal in bank.directions if goal == target]
    return reduce(or_, sources, is_there[target])


def _filled(own: HiddenValues, is_there: Value, stand_in: HiddenValues) -> HiddenValues:
    """Each clip's own sequence, or its stand-in where it has none."""
    graph = own.graph
    lengths = graph.where(is_there, own.lengths, stand_in.lengths)
    time = lengths.max(0, keep=True)
    steps = [one.steps.padded(1, 0, time).slice(1, 0, time) for one in (own, stand_in)]
    return HiddenValues(
        graph.where(is_there.wider(1), own.head, stand_in.head),
        graph.where(is_there.wider(1, 2), *steps),
        lengths,
        own.dim,
    )


def _stand_ins(
    model: Model, target: str, known: Mapping[str, HiddenValues], is_there: There
) -> list[HiddenValues]:
    """What stands in for the target, once or draw by draw; in clips that have it, something."""
    graph, bank = known[target].graph, model.bank
    guess = _lengths(bank, target, known, is_there)
    lengths = graph.where(is_there[target], np.array(1), guess)
    wanted = Wanted(lengths, lengths.max(0, keep=True))
    batch, dim = lengths.size(0), known[target].dim
    ways = [
        (place, source, way)
        for place, ((source, goal), way) in enumerate(bank.items())
        if goal == target
    ]
    mixed: list[Value] = [graph.zeros(batch, wanted.time, dim)]
    if ways:
        shares = _shares(bank, [place for place, *_ in ways], [is_there[s] for _, s, _ in ways])
        parts = [draws(way.imputer, known[source], wanted) for _, source, way in ways]
        weights = [shares.slice(1, n, n + 1).wider(2) for n in range(len(ways))]
        mixed = [
            reduce(add, (w * steps for w, steps in zip(weights, drawn, strict=True)))
            for drawn in zip(*parts, strict=True)
        ]
    head = graph.value(array(model.backbone.encoder(target).cls)).expand(batch, dim)
    return [HiddenValues(head, steps, lengths, dim) for steps in mixed]


def _lengths(
    bank: ImputerBank, target: str, known: Mapping[str, HiddenValues], is_there: There
) -> Value:
    """How long a missing target is taken to be: `ImputerBank.lengths`."""
    sources = [name for name in known if name != target]
    sayers = [name for name in sources if Direction(name, target) in bank.directions]
    others = [name for name in sources if name not in sayers]
    totals = []
    for names in (sayers, others):
        rates = [float(bank[n, target].length_ratio) if names is sayers else 1.0 for n in names]
        counts = [is_there[name].cast(np.float64) for name in names]
        said = [
            known[name].lengths.cast(np.float64) * rate * count
            for name, rate, count in zip(names, rates, counts, strict=True)
        ]
        nothing = known[target].lengths.cast(np.float64) * 0.0
        totals.append((sum(said, nothing), sum(counts, nothing)))
    (by_sayers, sayer_count), (by_others, other_count) = totals
    mean = by_sayers / sayer_count.at_least(1.0)
    guess = mean.graph.where(sayer_count > 0.0, mean, by_others / other_count.at_least(1.0))
    return guess.apply("Round").cast(np.int64).at_least(1)


def _shares(bank: ImputerBank, places: list[int], there: list[Value]) -> Value:
    """How much each direction counts in each clip `[batch, ways]`."""
    graph = there[0].graph
    is_there = graph.join([one.cast(np.float32).wider(1) for one in there], 1)
    if bank.preferences is None:
        return is_there
    logits = array(bank.preferences)[places]
    closed = graph.where(is_there > 0.0, logits, CLOSED)
    return closed.apply("Softmax", axis=-1) * is_there

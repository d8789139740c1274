"""Imputers as graphs; each is given its source, target lengths and the longest of these."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import nn

from mmalign.errors import ConfigError
from mmalign.export.backbone import HiddenValues
from mmalign.export.graph import Value
from mmalign.export.layers import (
    counted,
    gru_states,
    layer_read,
    linear_layer,
    sequential,
)
from mmalign.export.sequences import array, inside_of, masked
from mmalign.imputers import (
    MFM,
    SMIL,
    AlignmentDynamicsLearner,
    Copy,
    DynamicWindow,
    Imputer,
    MeanFill,
    ModalTrans,
    RandomPlan,
    UniformWindow,
    ZeroFill,
)
from mmalign.imputers.mfm import Summary
from mmalign.imputers.smil import Gaussian

LOWEST = np.array(np.finfo(np.float32).min, np.float32)


class Wanted(NamedTuple):
    """The target's steps: how many of each clip, and the most of them, a vector of one number."""

    lengths: Value
    time: Value


def draws(imputer: Imputer, source: HiddenValues, wanted: Wanted) -> list[Value]:
    """Steps that stand in for the target, once or draw by draw.

    Raises:
        ConfigError: If the imputer has no form as a graph.
    """
    if isinstance(imputer, SMIL):
        return _smil(imputer, source, wanted)
    write = WRITERS.get(type(imputer))
    if write is None:
        raise ConfigError(
            f"{type(imputer).__name__} cannot be exported: nobody has written it as a graph; "
            "write one into mmalign.export.imputers.WRITERS"
        )
    return [write(imputer, source, wanted)]


def _zero_fill(_: ZeroFill, source: HiddenValues, wanted: Wanted) -> Value:
    return source.graph.zeros(source.steps.size(0), wanted.time, source.dim)


def _mean_fill(imputer: MeanFill, source: HiddenValues, wanted: Wanted) -> Value:
    mean = source.graph.value(array(imputer.mean))
    steps = mean.expand(source.steps.size(0), wanted.time, source.dim)
    return masked(steps, inside_of(*wanted))


def _copy(_: Copy, source: HiddenValues, wanted: Wanted) -> Value:
    return masked(source.steps.at(_same_moment(source, wanted)), inside_of(*wanted))


def _uniform_window(imputer: UniformWindow, source: HiddenValues, wanted: Wanted) -> Value:
    place = band_columns(source, wanted, imputer.window)
    inside = (place >= 0).cast(np.float32)
    return carried(inside / inside.sum(2, keep=True).at_least(1), place, source, wanted)


def _random_plan(imputer: RandomPlan, source: HiddenValues, wanted: Wanted) -> Value:
    place = band_columns(source, wanted, imputer.window)
    rows = source.graph.range(source.steps.size(1)) % len(imputer.logits)
    logits = source.graph.value(array(imputer.logits)).take(rows, 0).wider(0)
    return carried(_band_softmax(logits, place), place, source, wanted)


def _mmalign(imputer: AlignmentDynamicsLearner, source: HiddenValues, wanted: Wanted) -> Value:
    fitter = imputer.fitter
    grus = fitter.forward_gru, fitter.backward_gru
    states, _ = gru_states(source.steps, source.lengths, *grus)
    place = band_columns(source, wanted, imputer.window)
    plan = _band_softmax(linear_layer(fitter.project, states), place)
    return carried(plan, place, source, wanted)


def _dynamic_window(imputer: DynamicWindow, source: HiddenValues, wanted: Wanted) -> Value:
    target = HiddenValues(source.head, source.steps, wanted.lengths, source.dim)
    place = band_columns(target, Wanted(source.lengths, wanted.time), imputer.window, wanted.time)
    logits = sequential(imputer.choose, source.steps.at(_same_moment(source, wanted)))
    weights = _band_softmax(logits, place)
    width = 2 * imputer.window + 1
    flat = place.at_least(0).reshape(0, -1)
    neighbours = linear_layer(imputer.translate, source.steps).at(flat)
    beside = neighbours.reshape(0, -1, width, source.dim)
    return (weights.wider(2) @ beside).narrower(2)


def _mfm(imputer: MFM, source: HiddenValues, wanted: Wanted) -> Value:
    rebuild = imputer.rebuild_victim
    own = sequential(rebuild.own_factor, _summary(imputer.victim_surrogate, source))
    shared = sequential(rebuild.shared_factor, _summary(imputer.shared_surrogate, source))
    factors = source.graph.join([own, shared], 1).wider(1)
    rolled = factors.expand(source.steps.size(0), wanted.time, 2 * source.dim)
    states, _ = gru_states(rolled, None, rebuild.gru)
    return masked(linear_layer(rebuild.write, states), inside_of(*wanted))


def _summary(summary: Summary, source: HiddenValues) -> Value:
    _, last = gru_states(source.steps, source.lengths, summary.gru)
    return linear_layer(summary.project, last)


def _modal_trans(imputer: ModalTrans, source: HiddenValues, wanted: Wanted) -> Value:
    if imputer.decoding != "parallel":
        raise ConfigError(
            "modal-trans cannot be exported: it writes step by step, each step from those before "
            "it; train modal-trans-parallel, which writes all at once"
        )
    translator, graph = imputer.forth, source.graph
    start = graph.value(array(translator.start))
    placed = start.expand(source.steps.size(0), wanted.time, source.dim)
    placed = placed + counted(graph, wanted.time, source.dim)
    times = graph.range(wanted.time)
    earlier = (times.wider(1) >= times).wider(0)
    own = layer_read(translator.read_own, placed, placed, earlier)
    read = layer_read(translator.read_source, own, source.steps, source.inside.wider(1))
    return masked(linear_layer(translator.write, read), inside_of(*wanted))


def _smil(imputer: SMIL, source: HiddenValues, wanted: Wanted) -> list[Value]:
    """One mixture of the centres for each table of noise."""
    graph = source.graph
    given = source.steps.at(_same_moment(source, wanted))
    mean, scale = _gaussian(imputer.weigh, given)
    rows = graph.range(wanted.time) % imputer.noise.shape[1]
    found = []
    for table in array(imputer.noise):
        noise = graph.value(table).take(rows, 0)
        shares = (mean + scale * noise).apply("Softplus")
        mixture = (shares / shares.sum(2, keep=True)) @ array(imputer.centres)
        found.append(masked(mixture, inside_of(*wanted)))
    return found


def _gaussian(gaussian: Gaussian, given: Value) -> tuple[Value, Value]:
    read = sequential(gaussian.read, given)
    scale = linear_layer(gaussian.scale, read).apply("Softplus")
    return linear_layer(gaussian.mean, read), scale


def _same_moment(source: HiddenValues, wanted: Wanted) -> Value:
    """The source step at the moment of each target step: `mmalign.model.hidden.same_moment`."""
    rate = source.lengths.cast(np.float64) / wanted.lengths.cast(np.float64)
    times = source.graph.range(wanted.time).cast(np.float64)
    moment = ((times + 0.5) * rate.wider(1) - 0.5).apply("Round").cast(np.int64)
    return moment.at_least(0).at_most(source.lengths.wider(1) - 1)


def band_columns(
    source: HiddenValues, wanted: Wanted, window: int, time: Value | None = None
) -> Value:
    """The column of every entry of a plan, -1 outside: `mmalign.align.band.band_columns`."""
    graph = source.graph
    rows = graph.range(source.steps.size(1) if time is None else time)
    n, m = source.lengths.wider(1), wanted.lengths.wider(1)
    centre = (rows * 2 + 1) * m - n
    radius = n * (2 * window)
    first = -((radius - centre) // (n * 2))
    last = ((radius + centre) // (n * 2)).at_most(m - 1)
    last = graph.where(rows >= n, -1, last)
    columns = first.wider(2) + np.arange(2 * window + 1)
    is_outside = (columns < 0) | (columns > last.wider(2))
    return graph.where(is_outside, -1, columns)


def _band_softmax(logits: Value, place: Value) -> Value:
    inside = place >= 0
    shares = logits.graph.where(inside, logits, LOWEST).apply("Softmax", axis=-1)
    return logits.graph.where(inside, shares, 0.0)


def carried(plan: Value, place: Value, source: HiddenValues, wanted: Wanted) -> Value:
    """Source steps carried through a plan: `mmalign.align.impute`."""
    graph = source.graph
    # Entries outside are parked in an extra last column, which is dropped.
    columns = graph.where(place >= 0, place, wanted.time)
    dense = graph.zeros(source.steps.size(0), source.steps.size(1), wanted.time + 1)
    dense = dense.apply("ScatterElements", columns, plan, axis=2).slice(2, 0, wanted.time)
    mass = dense.sum(1).wider(2)
    is_empty = mass < float(np.finfo(np.float32).tiny)
    total = dense.transpose(0, 2, 1) @ source.steps
    return graph.where(is_empty, 0.0, total / graph.where(is_empty, 1.0, mass))


WRITERS: dict[type[nn.Module], Callable[..., Value]] = {
    AlignmentDynamicsLearner: _mmalign,
    MFM: _mfm,
    ModalTrans: _modal_trans,
    DynamicWindow: _dynamic_window,
    ZeroFill: _zero_fill,
    MeanFill: _mean_fill,
    Copy: _copy,
    UniformWindow: _uniform_window,
    RandomPlan: _random_plan,
}

"""The bank: which directions there are, and how several sources become one stand-in."""

import numpy as np
import pytest
import torch

from mmalign.data.split import Split
from mmalign.imputers import Copy, Direction, DynamicWindow, ImputerBank, MeanFill
from mmalign.imputers.bank import all_draws, needed_directions, one
from mmalign.model.hidden import Known
from tests.imputers.test_mmalign import DIM, hidden

EVERYONE = torch.tensor([True, True, True])


def make_split(patterns: list[str]) -> Split:
    steps = np.zeros((2, 1), np.float32)
    names = sorted(set("".join(patterns)))
    columns = {name: [steps if name in p else None for p in patterns] for name in names}
    return Split(tuple(map(str, range(len(patterns)))), None, columns)


@pytest.mark.parametrize(
    ("patterns", "targets", "expected"),
    [
        (["abc", "ab"], None, ["ac", "bc"]),  # only c is ever missing
        (["abc", "abc"], None, ["ba", "ca", "ab", "cb", "ac", "bc"]),  # nothing is: all may be
        (["ab", "bc"], None, ["ba", "bc"]),  # a and c never meet
        (["ab", "a"], "b", ["ab"]),  # the paper's pair
        (["abc", "ab"], "a", ["ba", "ca"]),
        (["a", "a"], None, []),
    ],
)
def test_directions_are_those_that_training_can_need(patterns, targets, expected):
    split = make_split(patterns)
    found = needed_directions(split, split.modalities, targets)
    assert found == tuple(Direction(*ends) for ends in expected)


def make_bank(directions=("ac", "bc")) -> ImputerBank:
    torch.manual_seed(0)
    return ImputerBank(
        [tuple(ends) for ends in directions], lambda: DynamicWindow(DIM, 2).double()
    ).double()


def known(name: str, lengths: list[int], there=EVERYONE) -> Known:
    return Known(hidden(lengths, seed=ord(name)), there)


def imputed(bank: ImputerBank, source: str, from_: Known, rows, lengths) -> torch.Tensor:
    return bank[source, "c"].imputer.impute(from_.of(rows), lengths)


def test_one_source_is_taken_as_it_is():
    bank, first = make_bank(), known("a", [4, 2, 3])
    ((steps, lengths),) = bank.stand_ins("c", {"a": first}, EVERYONE, one)
    assert torch.equal(steps, imputed(bank, "a", first, EVERYONE, lengths))


def test_several_sources_are_mixed_by_their_preferences():
    bank, sources = make_bank(), {"a": known("a", [4, 2, 3]), "b": known("b", [4, 2, 3])}
    with torch.no_grad():
        bank.preferences.copy_(torch.tensor([0.0, np.log(3.0)]))
    ((steps, lengths),) = bank.stand_ins("c", sources, EVERYONE, one)
    parts = [imputed(bank, name, sources[name], EVERYONE, lengths) for name in "ab"]
    torch.testing.assert_close(steps, 0.25 * parts[0] + 0.75 * parts[1])
    steps.sum().backward()
    assert bank.preferences.grad.abs().sum() > 0


def test_each_clip_mixes_the_sources_that_it_has():
    bank = make_bank()
    there = torch.tensor([True, False, True])
    sources = {"a": known("a", [4, 2, 3]), "b": known("b", [4, 3], there)}
    wanted = torch.tensor([False, True, True])
    ((steps, lengths),) = bank.stand_ins("c", sources, wanted, one)
    alone, both = (torch.tensor([False, True, False]), torch.tensor([False, False, True]))
    first = imputed(bank, "a", sources["a"], alone, lengths[:1])
    torch.testing.assert_close(steps[:1, : lengths[0]], first)
    assert (steps[0, lengths[0] :] == 0).all()
    parts = [imputed(bank, name, sources[name], both, lengths[1:]) for name in "ab"]
    torch.testing.assert_close(steps[1:, : lengths[1]], (parts[0] + parts[1]) / 2)


def test_lengths_are_the_mean_of_what_sources_say():
    bank = make_bank()
    bank["a", "c"].fit_lengths(np.array([2, 4, 0]), np.array([4, 8, 5]))
    bank["b", "c"].fit_lengths(np.array([4, 0]), np.array([2, 2]))
    assert [float(way.length_ratio) for way in bank.ways] == [2.0, 0.5]
    there = torch.tensor([True, False, True])
    sources = {"a": known("a", [4, 2, 3]), "b": known("b", [4, 6], there)}
    assert bank.lengths("c", sources, EVERYONE).tolist() == [5, 4, 4]  # 8|2, 4, 6|3 to even
    assert bank.lengths("c", {"b": sources["a"]}, EVERYONE).tolist() == [2, 1, 2]


def test_where_no_direction_leads_zeros_stand_in():
    bank, first = make_bank(["bc"]), known("a", [4, 2, 3])
    ((steps, lengths),) = bank.stand_ins("c", {"a": first}, EVERYONE, all_draws)
    assert lengths.tolist() == [4, 2, 3]
    assert (steps == 0).all()


def test_fitting_needs_both_ends():
    bank = make_bank(["ac", "bc", "ab"])
    there = torch.tensor([True, True, False])
    parts = {"a": known("a", [4, 2, 3]), "c": known("c", [3, 2], there)}
    losses = bank.fit_losses(parts)
    assert losses.keys() == {("a", "c")}
    expected = bank["a", "c"].imputer.fit_loss(parts["a"].of(there), parts["c"].hidden)
    assert torch.equal(losses["a", "c"], expected)
    nobody = {**parts, "c": known("c", [3], torch.tensor([False, False, True]))}
    nobody["a"] = known("a", [4, 2], there)
    assert bank.fit_losses(nobody) == {}


def test_targets_are_prepared_once_each():
    bank = ImputerBank([("a", "c"), ("b", "c"), ("a", "b")], lambda: MeanFill(DIM))
    asked = []

    def steps_of(target: str) -> torch.Tensor:
        asked.append(target)
        return torch.full((2, DIM), float(ord(target)))

    bank.prepare(steps_of)
    assert asked == ["c", "b"]
    assert bank["b", "c"].imputer.mean[0] == ord("c")
    assert bank["a", "b"].imputer.mean[0] == ord("b")


def test_a_pair_has_no_preferences_and_one_imputer():
    bank = ImputerBank([("a", "b")], Copy)
    assert bank.preferences is None
    assert isinstance(bank.only, Copy)
    assert bank.task_parameters() == []
    assert len(make_bank().task_parameters()) == 1 + len(make_bank().imputer_parameters())

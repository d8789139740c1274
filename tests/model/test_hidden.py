"""Sequences of the clips that have a modality, and their places in the batch."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.model.hidden import Hidden, Known
from tests.imputers.test_mmalign import hidden


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5)), min_size=2, max_size=6))
def test_own_and_stand_in_sequences_go_to_their_rows(clips):
    there = torch.tensor([is_there for is_there, _ in clips])
    own_lengths = [length for is_there, length in clips if is_there]
    other_lengths = [length for is_there, length in clips if not is_there]
    if not own_lengths or not other_lengths:
        return
    own, other = hidden(own_lengths, seed=1), hidden(other_lengths, seed=2)
    whole = Known(own, there).filled(other)
    assert whole.lengths.tolist() == [length for _, length in clips]
    for part, rows in ((own, there), (other, ~there)):
        found = whole.rows(rows)
        assert torch.equal(found.head, part.head)
        assert torch.equal(found.steps, part.steps[:, : found.steps.shape[1]])
        assert (whole.steps[rows][:, found.steps.shape[1] :] == 0).all()


def test_chosen_clips_are_found_among_those_that_have_it():
    own = hidden([4, 2, 3])
    known = Known(own, torch.tensor([True, False, True, True]))
    assert known.of(known.is_there) is own
    chosen = known.of(torch.tensor([False, False, True, True]))
    assert torch.equal(chosen.head, own.head[1:])
    assert torch.equal(chosen.steps, own.steps[1:, :3])


def test_mean_and_maximum_leave_padding_out():
    own = hidden([4, 1, 3])
    noisy = Hidden(own.head, own.steps.clone(), own.lengths)
    for row, length in enumerate(own.lengths):
        noisy.steps[row, length:] = torch.inf
        steps = own.steps[row, :length]
        expected = torch.cat((steps.mean(dim=0), steps.amax(dim=0)))
        torch.testing.assert_close(noisy.pooled[row], expected)

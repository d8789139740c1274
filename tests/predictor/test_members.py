"""The mean of members' answers, and their weights by name."""

import torch

from mmalign.predictor.members import mean_outputs, split_members


def test_probabilities_are_averaged_not_logits():
    sure, unsure = torch.tensor([[8.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    mean = (sure.softmax(dim=-1) + unsure.softmax(dim=-1)) / 2
    torch.testing.assert_close(mean_outputs([sure, unsure]).softmax(dim=-1), mean)
    assert mean_outputs([sure, unsure]).argmax() == 0


def test_values_are_averaged_and_one_answer_stays_as_it_is():
    first, second = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [2.0]])
    assert mean_outputs([first, second]).tolist() == [[2.0], [2.0]]
    assert mean_outputs([first]) is first


def test_weights_of_a_member_that_should_not_be_there_are_left_to_the_first():
    weights = {name: torch.zeros(()) for name in ("a", "members.1.a", "members.2.a")}
    first, second = split_members(weights, 2)
    assert list(first) == ["a", "members.2.a"]
    assert list(second) == ["a"]

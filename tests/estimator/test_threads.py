"""A network trains on one thread, and leaves torch as it was."""

import pytest
import torch

import mmalign
from mmalign.training.loop import Training
from tests.training.joint import TINY, whole_twin


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("asked", "taken"), [(None, 1), ("2", 2)])
def test_fit_takes_one_thread_unless_more_are_asked_for(asked, taken, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    threads = []
    monkeypatch.setattr(Training, "run_epoch", watched(Training.run_epoch, threads))
    mmalign.MMAlign(method="zero-fill", **TINY).fit(whole_twin())
    assert set(threads) == {taken}
    assert torch.get_num_threads() == 2


def watched(run_epoch, threads):
    def run(training):
        threads.append(torch.get_num_threads())
        return run_epoch(training)

    return run

"""Modal-Trans: cache or not, the same answer; the cycle error falls."""

import pytest
import torch

from mmalign.imputers.modal_trans import ModalTrans
from mmalign.model.hidden import step_error
from tests.imputers.test_mmalign import DIM, hidden


def make(decoding: str) -> ModalTrans:
    torch.manual_seed(0)
    return ModalTrans(DIM, 2, decoding).double()


def test_cached_and_uncached_decoding_agree():
    source, lengths = hidden([7, 2, 5]), torch.tensor([4, 9, 6])
    first, second = (make(d).impute(source, lengths) for d in ("cached", "uncached"))
    torch.testing.assert_close(first, second, atol=1e-12, rtol=0)


def test_they_agree_to_1e_5_in_float32_and_in_their_gradients():
    gradients = []
    for decoding in ("cached", "uncached"):
        imputer = make(decoding).float()
        source = hidden([7, 2, 5])
        source = type(source)(source.head.float(), source.steps.float(), source.lengths)
        imputed = imputer.impute(source, source.lengths)
        imputed.square().sum().backward()
        gradients.append((imputed.detach(), imputer.forth.start.grad))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-5)


def test_teacher_forcing_with_its_own_output_is_decoding():
    imputer = make("cached")
    source = hidden([5, 5])
    written = imputer.forth.cached(source, 5)
    torch.testing.assert_close(imputer.forth.teacher_forced(source, written), written)


@pytest.mark.parametrize("decoding", ["cached", "parallel"])
def test_the_cycle_error_falls(decoding):
    imputer = make(decoding)
    source, target = hidden([6, 4], seed=1), hidden([6, 4], seed=2)

    def cycle() -> float:
        there = imputer._translated(imputer.forth, source, target)
        return imputer.cycle_error(source, target, there).item()

    before = cycle()
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        imputer.fit_loss(source, target).backward()
        optimizer.step()
    assert cycle() < 0.5 * before


@pytest.mark.parametrize("decoding", ["cached", "parallel"])
def test_both_translations_and_both_cycles_are_in_the_loss(decoding):
    imputer = make(decoding)
    source, target = hidden([6, 4], seed=1), hidden([6, 4], seed=2)
    there = imputer._translated(imputer.forth, source, target)
    back = imputer._translated(imputer.back, target, source)
    returned = type(source)(source.head, back, source.lengths)
    parts = [
        step_error(there, target),
        step_error(back, source),
        imputer.cycle_error(source, target, there),
        step_error(imputer._translated(imputer.forth, returned, target), target),
    ]
    torch.testing.assert_close(imputer.fit_loss(source, target), sum(parts))


def test_cycles_alone_teach_to_come_back():
    """Nothing but the way there and back is trained here."""
    imputer = make("parallel")
    source, target = hidden([6, 4], seed=1), hidden([6, 4], seed=2)

    def cycle() -> torch.Tensor:
        there = imputer._translated(imputer.forth, source, target)
        return imputer.cycle_error(source, target, there)

    before = cycle().item()
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        cycle().backward()
        optimizer.step()
    assert cycle().item() < 0.5 * before
    assert imputer.forth.start.grad is not None  # the way back teaches the way there

"""Dynamic window: each step learns where to look."""

import torch

from mmalign import align
from mmalign.imputers import DynamicWindow
from mmalign.model.hidden import Hidden, step_error

DIM, WINDOW, TIME = 6, 2, 20


def lagged(seed: int) -> tuple[Hidden, Hidden, torch.Tensor]:
    """The victim's step is the visible one that the step at its own moment points to."""
    torch.manual_seed(seed)
    steps = torch.randn(16, TIME, DIM)
    lag = torch.where(steps[..., 0] > 0, 2, -1)
    source = (torch.arange(TIME) + lag).clamp(0, TIME - 1)
    lengths = torch.full((16,), TIME)
    victim = steps.gather(1, source[..., None].expand_as(steps))
    return Hidden(steps[:, 0], steps, lengths), Hidden(victim[:, 0], victim, lengths), lag


def test_it_finds_the_step_that_each_step_points_to():
    imputer = DynamicWindow(DIM, WINDOW)
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.02)
    visible, victim, _ = lagged(seed=1)
    for _ in range(250):
        optimizer.zero_grad()
        imputer.fit_loss(visible, victim).backward()
        optimizer.step()
    visible, victim, lag = lagged(seed=2)
    with torch.no_grad():
        chosen = imputer.choose(visible.steps).argmax(dim=-1) - WINDOW
        error = step_error(imputer.impute(visible, victim.lengths), victim)
        mean = align.impute(align.uniform_plan(visible.lengths, window=WINDOW), visible.steps)
    inner = slice(WINDOW, TIME - WINDOW)  # elsewhere the lag may lead out of the clip
    assert (chosen == lag)[:, inner].float().mean() > 0.95
    assert error < 0.2 * step_error(mean, victim)


def test_it_reads_nothing_outside_its_window():
    torch.manual_seed(0)
    imputer = DynamicWindow(DIM, WINDOW)
    visible, victim, _ = lagged(seed=1)
    changed = visible.steps.clone()
    changed[:, 10] += 1
    other = Hidden(visible.head, changed, visible.lengths)
    with torch.no_grad():
        before, after = (imputer.impute(h, victim.lengths) for h in (visible, other))
    moved = (before != after).any(dim=-1).any(dim=0).nonzero().ravel().tolist()
    assert moved == list(range(10 - WINDOW, 10 + WINDOW + 1))

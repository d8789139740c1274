"""Dynamic window: each step learns where to look."""

import torch

from mmalign import align
from mmalign.imputers import DynamicWindow
from mmalign.model.hidden import Hidden, step_error

DIM, WINDOW, TIME = 6, 2, 20


def lagged(seed: int) -> tuple[Hidden, Hidden, torch.Tensor]:
    """The target's step is the source one that the step at its own moment points to."""
    torch.manual_seed(seed)
    steps = torch.randn(16, TIME, DIM)
    lag = torch.where(steps[..., 0] > 0, 2, -1)
    source = (torch.arange(TIME) + lag).clamp(0, TIME - 1)
    lengths = torch.full((16,), TIME)
    target = steps.gather(1, source[..., None].expand_as(steps))
    return Hidden(steps[:, 0], steps, lengths), Hidden(target[:, 0], target, lengths), lag


def test_it_finds_the_step_that_each_step_points_to():
    imputer = DynamicWindow(DIM, WINDOW)
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.02)
    source, target, _ = lagged(seed=1)
    for _ in range(250):
        optimizer.zero_grad()
        imputer.fit_loss(source, target).backward()
        optimizer.step()
    source, target, lag = lagged(seed=2)
    with torch.no_grad():
        chosen = imputer.choose(source.steps).argmax(dim=-1) - WINDOW
        error = step_error(imputer.impute(source, target.lengths), target)
        mean = align.impute(align.uniform_plan(source.lengths, window=WINDOW), source.steps)
    inner = slice(WINDOW, TIME - WINDOW)  # elsewhere the lag may lead out of the clip
    assert (chosen == lag)[:, inner].float().mean() > 0.95
    assert error < 0.2 * step_error(mean, target)


def test_it_reads_nothing_outside_its_window():
    torch.manual_seed(0)
    imputer = DynamicWindow(DIM, WINDOW)
    source, target, _ = lagged(seed=1)
    changed = source.steps.clone()
    changed[:, 10] += 1
    other = Hidden(source.head, changed, source.lengths)
    with torch.no_grad():
        before, after = (imputer.impute(h, target.lengths) for h in (source, other))
    moved = (before != after).any(dim=-1).any(dim=0).nonzero().ravel().tolist()
    assert moved == list(range(10 - WINDOW, 10 + WINDOW + 1))

"""Newton's method in torch operations: each clip stops where it should, and padding is nothing."""

import pytest
import torch

from mmalign.align import portable_newton, solve
from mmalign.align.cost import windowed_cosine_cost
from mmalign.align.portable_newton import annealed_newton, newton, solve_blocks
from mmalign.align.scored_band import ScoredBand


def draw_band(seed=0, *, epsilon=0.2, lengths=((30, 22, 9), (30, 14, 12))):
    """Opposite steps in one clip; a batch with lengths that differ."""
    chance = torch.Generator().manual_seed(seed)
    source, target = torch.randn(2, 3, 30, 4, generator=chance, dtype=torch.float64)
    target[0] = -source[0]
    rows, columns = map(torch.tensor, lengths)
    sides = {"source_lengths": rows, "target_lengths": columns}
    cost = windowed_cosine_cost(source, target, window=3, **sides)
    return ScoredBand.build(cost, rows, columns, epsilon=epsilon)


def start(band):
    """The plan whose rows sum to 1 and whose columns may sum to anything."""
    plan = band.scores.softmax(-1).masked_fill(~band.is_row[..., None], 0.0)
    return plan, torch.zeros(band.is_column.shape, dtype=torch.float64)


def run(band, plan, potentials, **options):
    effort = {"tolerance": 1e-10, "steps": 200, "halvings": 40}
    return newton(band, plan, potentials, **(effort | options))


def counted(monkeypatch, owner, name):
    """How often a function of a module is called from now on."""
    calls, function = [], getattr(owner, name)

    def call(*arguments, **options):
        calls.append(name)
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_a_clip_within_the_tolerance_is_left_alone():
    band = draw_band()
    plan, potentials = start(band)
    error = float(band.marginal_error(plan).max())
    found, moved, taken = run(band, plan, potentials, tolerance=error)
    assert torch.equal(found, plan)
    assert torch.equal(moved, potentials)
    assert taken.tolist() == [0, 0, 0]


def test_a_clip_that_has_converged_stands_still_while_others_go_on():
    band = draw_band()
    plan, potentials = start(band)
    errors = band.marginal_error(plan)
    tolerance = float(errors.min())
    found, moved, taken = run(band, plan, potentials, tolerance=tolerance)
    done = int(errors.argmin())
    assert taken[done] == 0
    assert torch.equal(found[done], plan[done])
    assert torch.equal(moved[done], potentials[done])
    others = torch.arange(3) != done
    assert (taken[others] > 0).all()
    assert (moved[others] != 0).any(1).all()


def test_where_no_step_helps_nothing_moves_and_nothing_is_tried_again(monkeypatch):
    band = draw_band()
    plan, potentials = start(band)
    calls = counted(monkeypatch, portable_newton, "solve_blocks")
    found, moved, taken = run(band, plan, potentials, halvings=0)
    assert len(calls) == 1
    assert torch.equal(found, plan)
    assert torch.equal(moved, potentials)
    assert taken.tolist() == [0, 0, 0]


def test_an_error_that_no_longer_falls_ends_the_work(monkeypatch):
    """No tolerance is as small as 0, and rounding is noticed after a few steps."""
    band = draw_band()
    calls = counted(monkeypatch, portable_newton, "solve_blocks")
    plan, _, taken = run(band, *start(band), tolerance=0.0)
    assert band.marginal_error(plan).max() < 1e-13
    assert taken.max() < len(calls) < 20


def test_the_plan_is_that_of_its_potentials():
    band = draw_band()
    plan, potentials, _ = run(band, *start(band))
    expected = (band.scores + band.spread(potentials)).softmax(-1)
    assert torch.allclose(plan[band.is_row], expected[band.is_row], rtol=1e-9)
    assert (plan[~band.is_row] == 0).all()
    assert (potentials[~band.is_column] == 0).all()


def test_what_pads_a_batch_changes_no_answer_and_no_count():
    lengths = (30, 22, 9), (30, 14, 12)
    for epsilon in (0.2, 0.02):
        effort = {"epsilon": epsilon, "tolerance": 1e-10}
        together, counts = annealed_newton(draw_band(epsilon=epsilon, lengths=lengths), **effort)
        assert (counts > 5).all()
        for clip, (n, m) in enumerate(zip(*lengths, strict=True)):
            whole = draw_band(epsilon=epsilon, lengths=lengths)
            alone = ScoredBand(
                scores=whole.scores[clip : clip + 1, :n],
                place=whole.place.view(whole.scores.shape)[clip : clip + 1, :n].flatten(1),
                is_row=whole.is_row[clip : clip + 1, :n],
                is_column=whole.is_column[clip : clip + 1, :m],
                column_target=whole.column_target[clip : clip + 1],
            )
            plan, count = annealed_newton(alone, **effort)
            assert torch.allclose(plan[0], together[clip, :n], rtol=0, atol=1e-9)
            assert count == counts[clip]


@pytest.mark.parametrize(("rows", "columns", "window"), [(60, 3, 1), (3, 60, 11)])
def test_clips_converge_however_many_rows_there_are_to_a_column(portable, rows, columns, window):
    """What keeps Newton's system regular must grow with the columns' sums."""
    chance = torch.Generator().manual_seed(rows)
    sides = [torch.randn(40, n, 4, generator=chance).double() for n in (rows, columns)]
    assert solve(*sides, window=window, tolerance=1e-12).converged.all()


def draw_system(places, half_width):
    """A symmetric banded matrix whose diagonal outweighs the rest, dense and as its diagonals."""
    chance = torch.Generator().manual_seed(places)
    width = half_width + 1
    diagonals = torch.rand(2, places, width, generator=chance, dtype=torch.float64)
    diagonals[..., 0] += 2 * width
    dense = torch.zeros(2, places, places, dtype=torch.float64)
    for j in range(places):
        for d in range(min(width, places - j)):
            dense[:, j, j + d] = dense[:, j + d, j] = diagonals[:, j, d]
        diagonals[:, j, places - j :] = 0.0
    return dense, diagonals, torch.rand(2, places, generator=chance, dtype=torch.float64)


@pytest.mark.parametrize("half_width", [2, 4, 5])
@pytest.mark.parametrize("places", [1, 4, 5, 11, 20])
def test_banded_systems_are_solved_as_dense_ones_in_as_few_blocks(monkeypatch, places, half_width):
    dense, diagonals, vector = draw_system(places, half_width)
    expected = torch.linalg.solve(dense, vector)
    calls = counted(monkeypatch, torch.linalg, "cholesky_ex")
    found = solve_blocks(diagonals, vector, half_width=half_width)
    assert torch.allclose(found, expected, rtol=1e-12)
    assert len(calls) == -(-places // half_width)

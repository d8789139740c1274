"""How Newton's method goes on and when it stops: one rule for the compiled and the portable path.

The predicates take numbers inside the kernels, and tensors with a number a clip in torch.
"""

from typing import no_type_check

WARM_UP = 5  # Sinkhorn sweeps before Newton
STEPS = 200  # at one epsilon; more than 50 were never seen
HALVINGS = 40  # of one step
LONGEST = 40.0  # of a step in log mass, so that nothing overflows
SUFFICIENT = 0.2  # share of the promised decrease that a step must keep; a Newton step keeps a half
CLOSE = 1e-4  # a marginal error from which Newton converges quadratically
ROUNDING = 1e-9  # a marginal error from which a step that does not lower it is lost in rounding
ANNEAL_FROM = 0.1  # where Newton converges in a few steps from anywhere; smaller epsilons halve it
ANNEAL_UNTIL = 1e-2  # marginal error that is good enough to go on to the next epsilon


def effort() -> tuple[int, int, int]:
    """Sinkhorn sweeps of the warm-up, Newton steps at one epsilon, halvings of a step."""
    return WARM_UP, STEPS, HALVINGS


def schedule(epsilon: float) -> list[float]:
    """The epsilons to solve for, each from the potentials of the one before.

    A small epsilon comes twice: the second time starts from potentials alone, so that what
    underflowed on the way comes back.

    >>> schedule(0.5), schedule(0.03)
    ([0.5], [0.1, 0.05, 0.03, 0.03])
    """
    if epsilon >= ANNEAL_FROM:
        return [epsilon]
    epsilons = [ANNEAL_FROM]
    while epsilons[-1] > epsilon:
        epsilons.append(max(epsilon, epsilons[-1] / 2))
    return [*epsilons, epsilon]


@no_type_check
def is_long_enough(change, share, slope, error, trial):
    """Whether the dual falls by enough of what its slope promises or, close by, the error halves.

    Close to the answer the dual falls by less than its own rounding; then the error decides.
    """
    return (change <= SUFFICIENT * share * slope) | ((error < CLOSE) & (trial <= 0.5 * error))


@no_type_check
def is_lost_in_rounding(error, trial):
    """Whether a step changes nothing any more but the last bits."""
    return (trial >= error) & (error < ROUNDING)

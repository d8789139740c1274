"""Solve with odd arguments: prints, as JSON, what was neither solved nor refused as it should be.

It runs outside pytest: without the type checks of tests, as users run it.
"""

import json
import sys

import numpy as np
import torch

from mmalign.align import solve
from mmalign.errors import AlignmentError

STEPS = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
ARRAY = STEPS.numpy()
READ_ONLY = ARRAY.copy()
READ_ONLY.flags.writeable = False

REFUSED = {
    "window": [1.5, None, 2**63, -1, 0, True, "8", [8], np.float64(8), 2**31, 10**9, 10**400],
    "epsilon": [None, "x", 0, -1, float("nan"), float("inf"), 1j, True, [0.1], 10**400],
    "tolerance": [None, "x", 0, -1, float("nan"), 1j, [0.1]],
    "iterations": [1.5, 0, -1, "x", True, 2**63, 10**400, float("nan")],
    "source_lengths": [
        *(
            [2.5, 2],
            [float("nan"), 2],
            [2**63, 2],
            [True, False],
            ["a", "b"],
            [None, 1],
            [[1], [2]],
        ),
        *([0, 1], [6, 1], [1, 2, 3], [], "ab", {1: 2}, object(), 2.5, [10**400, 1], [[1, 2], [1]]),
        *(torch.tensor([2.5, 2.0]), torch.tensor([True, True]), torch.tensor([1 + 1j, 1])),
        *(torch.empty(2, dtype=torch.int64, device="meta"), torch.tensor([2, 1]).to_sparse()),
        *(np.array([2.5, 2]), np.array([2**63, 1], np.uint64), np.array([None, 1])),
    ],
    "source": [
        *(ARRAY.tolist(), None, 3.0, "x", ARRAY.astype(int), ARRAY.astype(complex), ARRAY > 0),
        *(ARRAY.astype(object), np.ma.masked_array(ARRAY, ARRAY > 0), ARRAY[0, 0], ARRAY[None]),
        *(STEPS.to_sparse(), torch.empty(2, 5, 3, device="meta"), STEPS.long(), STEPS[:, :0]),
        *(STEPS[:0], STEPS[..., :2], STEPS * float("nan"), STEPS + 1j, ARRAY.astype("U8")),
    ],
}
TAKEN = {
    "window": [1, 8, np.int32(2), np.uint8(3), 60],
    "epsilon": [1, np.float32(0.5), 0.01, 10**6],
    "iterations": [None, 1, np.int64(5)],
    "source_lengths": [
        *([2, 1], (5, 5), np.array([2, 1], np.int8), np.array([1, 2])[::-1], torch.tensor([3, 4])),
        *(torch.tensor([3, 4], dtype=torch.int32), np.array([1, 2], ">i4"), range(2, 4)),
    ],
    "source": [
        *(ARRAY[:, ::-1], ARRAY.astype(">f8"), ARRAY.astype(np.longdouble), READ_ONLY),
        *(np.asfortranarray(ARRAY), STEPS.transpose(1, 2).contiguous().transpose(1, 2)),
        *(
            STEPS.clone().requires_grad_(),
            np.ones((2, 10, 3))[:, ::2],
            np.broadcast_to(1.0, (2, 5, 3)),
        ),
    ],
}


def outcome(name: str, value: object) -> str:
    arguments = {"source": STEPS, "target": STEPS, name: value}
    if name == "source_lengths":
        arguments["target_lengths"] = value
    try:
        plan = solve(arguments.pop("source"), arguments.pop("target"), **arguments)
    except AlignmentError as error:
        return "refused" if len(str(error)) < 2200 else "long"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "taken" if torch.isfinite(plan.mass).all() else "not finite"


def equal_answers() -> list[str]:
    """Byte order and strides change no answer."""
    backwards = ARRAY[:, ::-1]
    pairs = [
        ("byte order", ARRAY.astype(">f8"), STEPS),
        ("strides", backwards, torch.from_numpy(backwards.copy())),
    ]
    return [
        name
        for name, odd, plain in pairs
        if not torch.equal(solve(odd, STEPS).mass, solve(plain, STEPS).mass)
    ]


def main() -> None:
    wrong = [
        f"{name} {type(value).__name__} {str(value)[:60]}: {found}"
        for expected, table in (("refused", REFUSED), ("taken", TAKEN))
        for name, values in table.items()
        for value in values
        if (found := outcome(name, value)) != expected
    ]
    cases = sum(len(values) for table in (REFUSED, TAKEN) for values in table.values())
    sys.stdout.write(json.dumps({"cases": cases, "wrong": wrong + equal_answers()}))


if __name__ == "__main__":
    main()

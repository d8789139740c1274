"""Where to compute."""

import os

import torch

from mmalign.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """The device of that name; `auto` takes a GPU if there is one.

    Raises:
        ConfigError: If there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"  # one GPU a process under torchrun
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {name!r} cannot be used here ({reason}); try cpu") from error
    return device

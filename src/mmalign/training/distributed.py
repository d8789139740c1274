"""Data-parallel training under torchrun: every process takes its share of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

from mmalign.model.streams import Streams


@dataclass(frozen=True)
class World:
    """The processes that train together."""

    rank: int = 0
    size: int = 1

    @property
    def is_leader(self) -> bool:
        """Whether this process writes files and talks to the user."""
        return self.rank == 0

    def share(self, batch: Streams) -> Streams:
        """This process's clips of a batch: every size-th one.

        A batch with fewer clips than processes goes to all of them whole.
        """
        if self.size == 1 or len(batch) < self.size:
            return batch
        place = next(iter(batch.lengths.values())).device
        return batch.rows(torch.arange(len(batch), device=place) % self.size == self.rank)

    def average(self, parameters: list[nn.Parameter], clips: int) -> None:
        """Replace gradients by their mean over processes, weighted with the clips each one saw."""
        if self.size == 1:
            return
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([gradient.reshape(-1) * clips for gradient in gradients])
        message = torch.cat((flat, flat.new_tensor([float(clips)])))
        distributed.all_reduce(message)
        mean = message[:-1] / message[-1]
        parts = torch.split(mean, [p.numel() for p in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter).clone()

    def is_any(self, is_so: bool, device: torch.device) -> bool:
        """Whether it is so in any process."""
        if self.size == 1:
            return is_so
        found = torch.tensor(float(is_so), device=device)
        distributed.all_reduce(found, distributed.ReduceOp.MAX)
        return bool(found)

    def agree(self, tensors: list[Tensor]) -> None:
        """Replace tensors by the leader's, in place."""
        if self.size == 1:
            return
        for tensor in tensors:
            distributed.broadcast(tensor, src=0)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            distributed.barrier()


@contextmanager
def join_world(device: torch.device) -> Iterator[World]:
    """The world that torchrun set up, or a world of one; left again at the end."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World()
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield World(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()

"""Processes that train together agree on what is not a gradient."""

import multiprocessing

import torch
from torch import distributed

from mmalign.training.distributed import World


def agree_from(rank: int, store: str, answers) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    tensors = [torch.full((3,), float(rank)), torch.arange(2) + rank]
    world = World(rank, 2)
    world.agree(tensors)
    asked = [world.is_any(is_so, torch.device("cpu")) for is_so in (rank == 1, False)]
    answers.put(([tensor.tolist() for tensor in tensors], asked))
    distributed.destroy_process_group()


def test_all_processes_get_the_leader_s_tensors_and_know_what_is_so_in_any(tmp_path):
    context = multiprocessing.get_context("fork")  # a fresh interpreter would import torch again
    answers = context.Queue()
    processes = [
        context.Process(target=agree_from, args=(rank, str(tmp_path / "store"), answers))
        for rank in range(2)
    ]
    for process in processes:
        process.start()
    found = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert [tensors for tensors, _ in found] == [[[0.0, 0.0, 0.0], [0, 1]]] * 2
    assert [asked for _, asked in found] == [[True, False]] * 2


def test_alone_there_is_nobody_to_agree_with():
    tensor = torch.ones(2)
    World().agree([tensor])
    assert tensor.tolist() == [1.0, 1.0]

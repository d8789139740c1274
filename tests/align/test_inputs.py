"""Odd arguments are solved as meant, or refused as an alignment problem; none escapes."""

import json

import numpy as np
import pytest
import torch
from tests.forked import run_module

from mmalign.align.inputs import as_batch, as_lengths
from mmalign.errors import AlignmentError

LIKE = torch.zeros(1)


def test_odd_arguments_are_taken_or_refused_in_one_way():
    done = run_module("tests.align.odd_arguments")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["cases"] > 90


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8])
def test_lengths_of_any_whole_type_become_int64_one_a_clip(dtype):
    for given in (torch.tensor([3, 1]), torch.tensor(3)):
        found = as_lengths("source", given.to(dtype), LIKE)
        assert found.dtype == torch.int64
        assert found.tolist() == given.reshape(-1).tolist()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_lengths_go_where_the_sequences_are(dtype):
    away = torch.zeros(1, device="meta")
    assert as_lengths("source", torch.tensor([3, 1], dtype=dtype), away).is_meta
    assert as_lengths("source", [3, 1], away).is_meta


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_what_is_no_list_of_lengths_is_refused(dtype):
    message = "source lengths must be whole numbers, one per clip, got torch.int"
    column = torch.tensor([[1], [2]], dtype=dtype)
    for odd in (column, column[0].to_sparse(), column[0].to("meta")):
        with pytest.raises(AlignmentError, match=message):
            as_lengths("source", odd, LIKE)
    with pytest.raises(AlignmentError, match="got ndarray of int"):
        as_lengths("source", column.numpy(), LIKE)


@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4", ">f4"])
def test_arrays_keep_their_numbers_and_are_copied_only_where_they_must_be(kind):
    array = np.arange(6).reshape(1, 3, 2).astype(kind)
    batch = as_batch("source", array)
    assert batch.dtype == (torch.float32 if kind.endswith("4") else torch.float64)
    assert np.array_equal(batch.numpy(), array)
    assert np.shares_memory(batch.numpy(), array) == kind.startswith("<")

"""Exports of tests are checked on few and short clips; the whole check is asked for by name."""

import pytest

from mmalign.export import parity

BATCHES = parity.BATCHES


@pytest.fixture(autouse=True)
def few_clips(monkeypatch):
    monkeypatch.setattr(parity, "BATCHES", ((1, 1), (9, 20)))


@pytest.fixture
def all_clips(monkeypatch, few_clips):
    monkeypatch.setattr(parity, "BATCHES", BATCHES)

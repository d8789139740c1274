"""The model card: what a model is and how to load it, in words."""

from collections.abc import Mapping
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification, Task
from mmalign.version import __version__


def task_in_words(task: Task) -> str:
    """What is predicted."""
    if isinstance(task, Classification):
        return f"classification into {', '.join(task.classes)}"
    return "regression"


def data_in_words(dataset: Dataset, content: str, protocol: Mapping[str, Any] | None) -> str:
    """What a model was trained and tested on, what was taken away, and what that means.

    Args:
        dataset: The data.
        content: Its hash, which takes a second for each gigabyte: who trains knows it already.
        protocol: What was taken away.
    """
    counts = ", ".join(f"{name} {_clips(split)}" for name, split in dataset.splits.items())
    facts = ", ".join(f"{name} {value}" for name, value in (protocol or {}).items())
    return (
        f"Data: {counts}; content hash `{content[:16]}`.\n"
        f"Protocol: {facts or 'none, modalities are missing as they were recorded'}.\n"
        "Limits: scores hold for people, sensors and labels like these. Where people or videos are "
        "in two splits, scores are too good. A subset that few clips have is known less well.\n"
    )


def _clips(split: Split) -> str:
    groups = "" if split.groups is None else f" of {len(set(split.groups))} people or videos"
    return f"{len(split)} clips{groups}"


def card_text(*, tag: str, title: str, body: str, comment: str) -> str:
    """The content of `README.md`, with the header that Hugging Face tools read."""
    return f"""---
library_name: mmalign
license: mit
tags: [multimodal, missing-modality, {tag}]
---
# {title}

{body}
```python
import mmalign
model = mmalign.load("path/to/this/directory")
model.predict(clips)   # {comment}
```
Made with mmalign {__version__}; settings are in `config.json`, hashes in `manifest.json`.
"""

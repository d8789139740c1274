"""The model card: what a model is and how to load it, in words."""

from mmalign.data.task import Classification, Task
from mmalign.version import __version__


def task_in_words(task: Task) -> str:
    """What is predicted."""
    if isinstance(task, Classification):
        return f"classification into {', '.join(task.classes)}"
    return "regression"


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

"""Shows the examples of docstrings as code: an extension that `mkdocs.yml` names."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^(>>> .*(?:\n(?!\s*$).*)*)", re.MULTILINE)


class Doctests(Extension):
    """Puts every run of lines that begins with `>>>` into a fence."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change a docstring before it is parsed."""
        if obj.docstring is not None:
            fenced = EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)
            obj.docstring.value = fenced

"""One file a format: HTML, Markdown, LaTeX, CSV."""

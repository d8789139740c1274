"""From a grid of finished runs to tables, figures and one page."""

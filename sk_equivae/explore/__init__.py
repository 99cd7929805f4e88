"""`explore`: a page to try out a fitted model in a browser.

Reading order: `packing`, `layers` and `network`, networks as text; `model`, `directions` and
`rows`, what the page knows of a model; `page`, the page. Its sources are in `static/`.
"""

from .page import Page, explore

__all__ = ["Page", "explore"]

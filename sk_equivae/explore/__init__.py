"""`explore`: a page to try out a fitted model in a browser.

Reading order: `decoder` and `description`, what the page knows of a model; `page`, the
file. The page itself is in `static/`.
"""

from .page import explore

__all__ = ["explore"]

"""`explore`: one HTML file in which to play with r and v."""

from .page import explore

__all__ = ["explore"]

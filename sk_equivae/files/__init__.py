"""Files that are whole or not there: the format of archives and checkpoints.

Reading order: `errors`, `atomic`, `archive`.
"""

from .errors import ArchiveError

__all__ = ["ArchiveError"]

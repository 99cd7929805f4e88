"""Files: the archive of a fitted estimator.

Reading order: `errors`, `atomic`, `archive`, `values`.
"""

from .errors import ArchiveError

__all__ = ["ArchiveError"]

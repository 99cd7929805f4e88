"""The one error of archives."""


class ArchiveError(ValueError):
    """A file is no archive of this library, is damaged, or was made to do harm."""

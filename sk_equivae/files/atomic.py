"""Files of which there is, at any time, the old one or the new one as a whole."""

import contextlib
import os
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, wait until it is on the disk, and rename it.

    A crash leaves the old file as it was. An error names the file, not the other name.
    """
    if not path.parent.exists():
        raise FileNotFoundError(
            f"The folder {path.parent} is not there, so {path} cannot be written. Make it first."
        )
    # not by `tempfile`, which would keep the file from other users of the machine
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException as error:
        _remove(unfinished)
        if isinstance(error, OSError) and error.filename is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    _sync_folder(path.parent)


def _remove(path: Path) -> None:
    """Remove a file if there is one; why it could not be written is told by another error."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename last; some systems cannot open folders, and need not."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)

"""Files of which there is, at any time, the old one or the new one as a whole."""

import os
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, wait until it is on the disk, and rename it.

    A crash leaves the old file as it was.
    """
    # not by `tempfile`, which would keep the file from other users of the machine
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


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

"""Errors of writing name the file that was asked for, not the one that is renamed to it."""

import os
import re

import pytest

from sk_equivae.files.atomic import write_whole


def test_no_folder(tmp_path):
    path = tmp_path / "nope" / "x.equivae"
    with pytest.raises(FileNotFoundError) as error:
        write_whole(path, b"")
    assert str(error.value) == (
        f"The folder {path.parent} is not there, so {path} cannot be written. Make it first."
    )


@pytest.mark.parametrize("kind", ["folder", "file as a folder", "forbidden"])
def test_the_file_is_named(tmp_path, kind, monkeypatch):
    path = tmp_path / "x.equivae"
    if kind == "folder":
        path.mkdir()
    elif kind == "file as a folder":
        path.write_text("")
        path = path / "y.equivae"
    else:

        def forbid(old, new):
            raise PermissionError(13, "Permission denied", str(old), None, str(new))

        monkeypatch.setattr(os, "replace", forbid)
    before = sorted(tmp_path.iterdir())
    wanted = {"folder": IsADirectoryError, "forbidden": PermissionError}
    with pytest.raises(wanted.get(kind, NotADirectoryError)) as error:
        write_whole(path, b"")
    assert error.value.filename == str(path)
    assert re.fullmatch(rf"\[Errno \d+\] [\w ]+: '{re.escape(str(path))}'", str(error.value))
    assert sorted(tmp_path.iterdir()) == before  # and nothing is left behind

"""`load_image_folder`: sizes, channels, unlabelled images, and files that are not images."""

import sys

import numpy as np
import pytest

from sk_equivae.datasets import load_image_folder

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
RED, GREY = (255, 0, 0), (90, 90, 90)


def write(folder, name, values, mode=None):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(values)).convert(mode or "L").save(path)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.RandomState(0)
    for name in ("a/1.png", "a/deep/2.png", "b/1.png", "Unlabelled/1.png", "loose.png"):
        write(tmp_path, name, rng.randint(256, size=(9, 8), dtype=np.uint8))
    (tmp_path / "a" / "notes.txt").write_text("not an image")
    (tmp_path / ".hidden").mkdir()
    write(tmp_path, ".hidden/1.png", np.zeros((9, 8), np.uint8))
    (tmp_path / "a" / "._1.png").write_bytes(b"made by another system")
    return tmp_path


def test_classes_and_unlabelled_images(folder):
    found = load_image_folder(folder)
    assert found.data.shape == (5, 9, 8)
    assert found.data.dtype == np.uint8
    assert found.target_names.tolist() == ["a", "b"]
    files = [name.replace("\\", "/") for name in found.filenames]
    names = dict(zip(files, found.target, strict=True))
    assert names == {"Unlabelled/1.png": -1, "a/1.png": 0, "a/deep/2.png": 0, "b/1.png": 1,
                     "loose.png": -1}  # fmt: skip
    assert found.labels.tolist() == [-1, "a", "a", "b", -1]
    X, y = load_image_folder(folder, return_X_y=True)
    np.testing.assert_array_equal(X, found.data)
    np.testing.assert_array_equal(y, found.target)
    other = load_image_folder(folder, unlabeled_folders=["b"])
    assert other.target_names.tolist() == ["Unlabelled", "a"]


def test_values_are_those_of_the_file(tmp_path):
    values = np.arange(64, dtype=np.uint8).reshape(8, 8)
    write(tmp_path, "a/1.png", values)
    np.testing.assert_array_equal(load_image_folder(tmp_path).data[0], values)


def test_sizes(folder):
    write(folder, "b/large.png", np.full((20, 30), 200, np.uint8))
    with pytest.raises(ValueError, match=r"9x8 and 20x30 pixels .*large.png.*image_size=32"):
        load_image_folder(folder)
    assert load_image_folder(folder, image_size=16).data.shape == (6, 16, 16)
    resized = load_image_folder(folder, image_size=(10, 12))
    assert resized.data.shape == (6, 10, 12)
    assert (resized.data[resized.filenames == "b/large.png"] == 200).all()


def test_channels(folder):
    write(folder, "a/grey.jpg", np.full((9, 8, 3), GREY, np.uint8), "RGB")
    write(folder, "b/grey.gif", np.full((9, 8), 90, np.uint8))
    assert load_image_folder(folder).data.shape == (7, 9, 8)  # grey, though stored in colours
    write(folder, "b/red.png", np.full((9, 8, 3), RED, np.uint8), "RGB")
    found = load_image_folder(folder)
    assert found.data.shape == (8, 9, 8, 3)
    assert found.data[found.filenames == "b/red.png"][0, 0, 0].tolist() == list(RED)
    assert load_image_folder(folder, channels=1).data.shape == (8, 9, 8)
    with pytest.raises(ValueError, match="1, 3 or None; got 4"):
        load_image_folder(folder, channels=4)


def test_transparent_pixels_are_white(tmp_path):
    path = tmp_path / "a" / "1.png"
    path.parent.mkdir()
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(path)
    Image.new("LA", (8, 8), (0, 255)).save(path.with_name("2.png"))
    found = load_image_folder(tmp_path)
    assert found.data.shape == (2, 8, 8)
    assert found.data.reshape(2, -1).mean(axis=1).tolist() == [255, 0]


def test_sixteen_bits(tmp_path):
    (tmp_path / "a").mkdir()
    values = np.linspace(0, 65535, 64).reshape(8, 8).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / "a" / "1.png")
    found = load_image_folder(tmp_path).data[0]
    np.testing.assert_allclose(found, values / 257, atol=1)


def test_photographs_are_turned_as_the_camera_was(tmp_path):
    (tmp_path / "a").mkdir()
    image = Image.new("L", (8, 12))
    exif = image.getexif()
    exif[0x0112] = 6  # turned by a quarter
    image.save(tmp_path / "a" / "1.jpg", exif=exif)
    assert load_image_folder(tmp_path).data.shape == (1, 8, 12)


def test_what_goes_wrong(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"one sub-folder of images per class.*not there"):
        load_image_folder(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is a file"):
        load_image_folder(tmp_path / "file")
    with pytest.raises(ValueError, match=r"found none. Images are files that end in .png"):
        load_image_folder(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "broken.png").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"broken.png could not be read as an image.*Remove it"):
        load_image_folder(tmp_path)


def test_without_pillow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'sk-equivae\[images\]'"):
        load_image_folder(folder)

"""`load_image_folder`: images from a folder with one sub-folder per class."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .estimators.labels import UNLABELED

# Names of the sub-folder of unlabelled images, in small letters.
UNLABELED_FOLDERS = ("unlabeled", "unlabelled")
# An image is grey if the channels of each pixel differ by at most this much, as JPEG files do.
GREY = 3
# Files that Pillow could read but that are no photographs or drawings.
NO_IMAGES = {".pdf", ".ps", ".eps", ".mpg", ".mpeg", ".wmf", ".emf", ".h5", ".hdf"}


def load_image_folder(
    folder: Any,
    *,
    image_size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    unlabeled_folders: Sequence[str] = UNLABELED_FOLDERS,
    return_X_y: bool = False,
) -> Any:
    """Load the images of a folder with one sub-folder per class.

    The names of the sub-folders are the classes. Images in a sub-folder `unlabeled` or
    `unlabelled`, and images in `folder` itself, have no label. Sub-folders of classes are read
    too. Files that are not images, and names that begin with a dot, are left out.

    Needs Pillow, which the extra `images` installs.

    Parameters
    ----------
    folder : path-like
        The folder.
    image_size : int or (int, int), default=None
        Height and width to which images are resized; an int is for both. The ratio of the two is
        not kept. None keeps images as they are; they must be of the same size then.
    channels : {1, 3} or None, default=None
        1 for grey images, 3 for colours. None takes 1 if all images are grey, else 3.
    unlabeled_folders : sequence of str, default=("unlabeled", "unlabelled")
        Names of sub-folders of unlabelled images; the case does not matter.
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    data : Bunch
        With these attributes:

        data : ndarray of shape (n, h, w) or (n, h, w, 3)
            The images, bytes from 0 to 255. Transparent pixels are white.
        labels : ndarray of shape (n,)
            The class of each image, by its name; -1 for unlabelled images.
        target : ndarray of shape (n,)
            The same as positions in `target_names`; -1 for unlabelled images.
        target_names : ndarray of shape (n_classes,)
            The classes, sorted.
        filenames : ndarray of shape (n,)
            The files, relative to `folder`, sorted.

    Examples
    --------
    Two black and two white images, and one without a label:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from sk_equivae.datasets import load_image_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("black/1", "black/2", "white/1", "white/2", "unlabeled/1"):
    ...         path = Path(folder, name + ".png")
    ...         path.parent.mkdir(exist_ok=True)
    ...         Image.new("L", (8, 8), "white" if "white" in name else "black").save(path)
    ...     images = load_image_folder(folder)
    >>> images.data.shape, images.labels.tolist()
    ((5, 8, 8), ['black', 'black', -1, 'white', 'white'])
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(
            f"Expected a folder with one sub-folder of images per class; {root} is "
            f"{'a file' if root.exists() else 'not there'}."
        )
    paths = find_images(root)
    if not paths:
        raise ValueError(
            f"Expected images in {root}, in one sub-folder per class; found none. Images are files "
            "that end in .png, .jpg, .gif, .bmp, .tif, .webp or the like."
        )
    unmarked = {name.lower() for name in unlabeled_folders}
    parents = [path.relative_to(root).parts[0] for path in paths]
    labeled = [
        path.parent != root and parent.lower() not in unmarked
        for path, parent in zip(paths, parents, strict=True)
    ]
    names = sorted({parent for parent, known in zip(parents, labeled, strict=True) if known})
    data = read_images(paths, image_size, channels)
    target = np.array(
        [
            names.index(parent) if known else UNLABELED
            for parent, known in zip(parents, labeled, strict=True)
        ]
    )
    if return_X_y:
        return data, target
    labels = np.array([*names, UNLABELED], dtype=object)[target]  # -1 is the last
    return Bunch(
        data=data,
        labels=labels,
        target=target,
        target_names=np.array(names),
        filenames=np.array([str(path.relative_to(root)) for path in paths]),
    )


def find_images(root: Path) -> list[Path]:
    """Return the images in a folder and in the folders inside it, sorted."""
    endings = set(_pillow().registered_extensions()) - NO_IMAGES
    found = []
    for folder, inner, files in os.walk(root, followlinks=True):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [
            Path(folder, name)
            for name in files
            if not name.startswith(".") and Path(name).suffix.lower() in endings
        ]
    return sorted(found)


def read_images(
    paths: Iterable[Any],
    image_size: int | tuple[int, int] | None = None,
    channels: int | None = None,
) -> NDArray[np.uint8]:
    """Return images as bytes.

    Parameters
    ----------
    paths : iterable of path-like
        The files.
    image_size, channels : int, pair of int or None, and int or None
        See `load_image_folder`.

    Returns
    -------
    images : ndarray of shape (n, h, w) or (n, h, w, 3)
        The images.
    """
    if channels not in (None, 1, 3):
        raise ValueError(f"channels should be 1, 3 or None; got {channels!r}.")
    if image_size is not None and np.ndim(image_size) == 0:
        image_size = (image_size, image_size)  # type: ignore[assignment]
    paths = [Path(path) for path in paths]
    images = [_read(path, image_size, channels) for path in paths]
    if channels is None and len({image.ndim for image in images}) > 1:
        images = [_in_colour(image) for image in images]
    sizes = Counter(image.shape[:2] for image in images)
    if len(sizes) > 1:
        (usual, _), *_, (other, _) = sizes.most_common()
        odd = next(p for p, image in zip(paths, images, strict=True) if image.shape[:2] == other)
        raise ValueError(
            f"Expected images of one size; got {len(sizes)} sizes, such as "
            f"{usual[0]}x{usual[1]} and {other[0]}x{other[1]} pixels ({odd}). Give a size to "
            "resize them all to, for example image_size=32."
        )
    return np.stack(images)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Reading images needs Pillow, which is not installed. Install it by `pip install "
            "'sk-equivae[images]'`."
        ) from error
    return Image


def _read(path: Path, size: Any, channels: int | None) -> NDArray[np.uint8]:
    """Return one image, of shape (h, w) if it is grey and else (h, w, 3)."""
    Image = _pillow()
    from PIL import ImageOps

    try:
        with Image.open(path) as file:
            image = ImageOps.exif_transpose(file)  # photographs are stored as the camera was held
            image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"{path} could not be read as an image ({error}). Remove it, or save it again."
        ) from error
    image = _plain(image, channels)
    if size is not None:
        image = image.resize((size[1], size[0]), Image.Resampling.LANCZOS, reducing_gap=3.0)
    return np.asarray(image, dtype=np.uint8)


def _plain(image: Any, channels: int | None) -> Any:
    """Return an image of bytes, grey or in colours, without transparency."""
    Image = _pillow()
    if image.mode.startswith("I") or image.mode == "F":  # more than 8 bits, which Pillow would cut
        values = np.asarray(image, dtype=np.float64)
        most = 65535 if image.mode.startswith("I") else max(1.0, values.max())
        image = Image.fromarray((values.clip(0, most) * (255 / most)).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    if image.mode not in ("1", "L", "LA", "La"):
        image = image.convert("RGB")
        if channels is None and np.ptp(np.asarray(image, np.int16), axis=2).max() <= GREY:
            channels = 1  # grey, but stored in colours
    in_colour = channels == 3 or (channels is None and image.mode == "RGB")
    return image.convert("RGB" if in_colour else "L")


def _in_colour(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)

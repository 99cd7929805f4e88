"""Parts of mosaics."""


def tile(image, i, j, size=8, gap=1, wide=0):
    """Return the tile of a mosaic at row i and column j, after `wide` wide gaps to the left."""
    left = j * (size + gap) + 3 * gap * wide
    return image[i * (size + gap) : i * (size + gap) + size, left : left + size]

"""Numbers as text, in few characters, for the page.

The weights of a network are integers times one scale per output, and an integer is three or four
characters of an alphabet of 88. Three characters hold 19 bits, four hold 25; base64 of float32
values would take 5.3 characters.
"""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The printable characters that need no escape in JSON, in HTML, or in an attribute of HTML.
ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in "\"&'<>\\")


def to_base64(values: Any, dtype: str = "<f4") -> str:
    """Return values in base64, for JSON.

    Parameters
    ----------
    values : array-like
        Numbers.
    dtype : str, default="<f4"
        Their dtype in the page.

    Returns
    -------
    text : str
        The bytes of the values.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def to_digits(integers: NDArray[np.int64], n_digits: int) -> str:
    """Return integers from 0 as digits of the alphabet, the highest first.

    Parameters
    ----------
    integers : ndarray of int
        The integers, below `len(ALPHABET) ** n_digits`.
    n_digits : int
        Characters per integer.

    Returns
    -------
    text : str
        The characters of all integers, one after the other.

    Examples
    --------
    >>> to_digits(np.array([0, 1, 88]), n_digits=2)
    '!!!##!'
    """
    base = len(ALPHABET)
    powers = base ** np.arange(n_digits)[::-1]
    digits = np.ravel(integers)[:, None] // powers % base
    letters = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
    return letters[digits].tobytes().decode()


def pack_weights(weight: NDArray[np.floating[Any]], n_digits: int) -> dict[str, Any]:
    """Describe the weights of a layer, with the error of each at most 1e-5 or 1e-7 of the largest.

    Parameters
    ----------
    weight : ndarray of shape (n_taps, n_out, n_in)
        The weights; a dense layer has one tap.
    n_digits : {3, 4}
        Characters per weight.

    Returns
    -------
    packed : dict
        Digits, and what one unit of them means for each output.
    """
    half = (len(ALPHABET) ** n_digits - 1) // 2
    largest = np.abs(weight).max(axis=(0, 2)).astype(np.float64)
    scale = np.where(largest > 0, largest / half, 1.0).astype(np.float32)
    integers = np.rint(weight / scale[:, None].astype(np.float64)).astype(np.int64)
    return {
        "digits": to_digits(np.clip(integers, -half, half) + half, n_digits),
        "n_digits": n_digits,
        "scale": to_base64(scale),
    }

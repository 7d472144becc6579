"""What a message says of its array: dtype, shape and order, in front of the elements.

    u8   version, 1
    u8   number of dimensions, 0 to 64; with 0x80 the elements are in Fortran order, else in C order
    u16  length of the dtype's text
    i64  size of each dimension
    text of the dtype: numpy's ``dtype.str``, such as ``<f8``; of a structured one JSON of
         ``{"names": [...], "formats": [text or [text, shape], ...], "offsets": [...],
         "itemsize": n}``, where a text may again be such an object
    zeros up to a multiple of 16, where the elements begin

All little endian. The text comes from the network: it is parsed as data and checked, and no dtype
with Python objects is ever made of it.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Buffer

VERSION: Final = 1
FORTRAN: Final = 0x80
DIMENSIONS_MAX: Final = 64
#: Longest text of a dtype, in bytes.
TEXT_MAX: Final = 16_384
#: Where elements may begin: a multiple of it is right for each dtype.
ALIGNMENT: Final = 16
PREFIX: Final = struct.Struct("<BBH")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the elements of an array lie in its message.

    Attributes:
        dtype, shape: of the array.
        order: ``"C"`` or ``"F"``.
        count: how many elements.
        offset: where they begin, in bytes.
        length: of the message, in bytes.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Any  # "C" or "F"; no Literal reaches numpy's overloads through a field
    count: int
    offset: int
    length: int


def header_of(dtype: np.dtype[Any], shape: tuple[int, ...], *, is_fortran: bool) -> bytes:
    """The header of an array.

    Raises:
        ValueError: no text tells this dtype, or it is too long.
    """
    text = text_of(dtype)
    if len(text) > TEXT_MAX:
        raise ValueError(f"the dtype takes {len(text)} bytes to tell, at most {TEXT_MAX} fit")
    first = PREFIX.pack(VERSION, len(shape) | (FORTRAN if is_fortran else 0), len(text))
    header = first + struct.pack(f"<{len(shape)}q", *shape) + text
    return header.ljust(_aligned(len(header)), b"\0")


def header_length_of(data: Buffer) -> int:
    """Bytes of the header with which ``data`` begins. It may claim more than there are.

    Raises:
        struct.error: there are not even four bytes.
    """
    _, second, text_length = PREFIX.unpack_from(data)
    return _aligned(PREFIX.size + 8 * (second & ~FORTRAN) + text_length)


def layout_of(header: bytes) -> Layout:
    """What a whole header says.

    Raises:
        ValueError: it is none.
    """
    if len(header) != header_length_of(header):
        raise ValueError(f"its header has {len(header)} of {header_length_of(header)} bytes")
    version, second, text_length = PREFIX.unpack_from(header)
    dimensions = second & ~FORTRAN
    if version != VERSION or dimensions > DIMENSIONS_MAX or text_length > TEXT_MAX:
        raise ValueError(
            f"its header has version {version}, {dimensions} dimensions and {text_length} bytes of "
            f"dtype; known are version {VERSION}, {DIMENSIONS_MAX} and {TEXT_MAX} at most"
        )
    shape: tuple[int, ...] = struct.unpack_from(f"<{dimensions}q", header, PREFIX.size)
    start = PREFIX.size + 8 * dimensions
    dtype = dtype_of(header[start : start + text_length])
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape} has a negative size")
    count = math.prod(shape)
    return Layout(
        dtype,
        shape,
        "F" if second & FORTRAN else "C",
        count,
        len(header),
        len(header) + count * dtype.itemsize,
    )


def text_of(dtype: np.dtype[Any]) -> bytes:
    """The text of a dtype.

    Raises:
        ValueError: it would come back as another one.
    """
    import msgspec

    described = _describe(dtype)
    text = described.encode() if isinstance(described, str) else msgspec.json.encode(described)
    if dtype_of(text) != dtype:
        raise ValueError(f"dtype {dtype} is none of numpy's own, and cannot be told to a reader")
    return text


def dtype_of(text: bytes) -> np.dtype[Any]:
    """The dtype of a text.

    Raises:
        ValueError: it is none, or one with Python objects.
    """
    import msgspec

    try:
        described: Any = msgspec.json.decode(text) if text[:1] == b"{" else text.decode("ascii")
        dtype = _restore(described)
    except (
        TypeError,
        ValueError,
        SyntaxError,
        OverflowError,
        LookupError,
        RecursionError,
    ) as error:
        raise ValueError(f"{text[:80]!r} is no dtype of numpy: {error}") from error
    if dtype.hasobject or dtype.subdtype is not None:
        raise ValueError(f"dtype {dtype} is none of an array's bytes")
    return dtype


def _describe(dtype: np.dtype[Any]) -> Any:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [_describe(base), list(shape)]
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    members: Any = dtype.fields
    fields = [members[name] for name in dtype.names]
    return {
        "names": list(dtype.names),
        "formats": [_describe(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "itemsize": dtype.itemsize,
    }


def _restore(described: Any) -> np.dtype[Any]:
    import numpy

    if isinstance(described, str):
        return numpy.dtype(described)
    if isinstance(described, list):
        parts: list[Any] = described  # pyright: ignore[reportUnknownVariableType] - JSON
        base, shape = _restore(parts[0]), tuple(map(int, parts[1]))
        if not base.itemsize:
            raise ValueError(f"an array of {base} in each element has any number of them")
        return numpy.dtype((base, shape))
    names, formats = described["names"], described["formats"]
    return numpy.dtype(
        {
            "names": [str(name) for name in names],
            "formats": [_restore(each) for each in formats],
            "offsets": [int(offset) for offset in described["offsets"]],
            "itemsize": int(described["itemsize"]),
        }
    )


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT

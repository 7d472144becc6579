"""The codec of NumPy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args, get_origin

from rstream._checks import is_whole
from rstream._extras import how_to_install
from rstream._process import raise_of_handler
from rstream.codecs._array_header import (
    Layout,
    header_length_of,
    header_of,
    layout_of,
)
from rstream.codecs._base import NUMPY_ID, bare, decode_error, name_of
from rstream.codecs._limits import LIMITS, Limits
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

    from rstream.codecs._base import Codec, Encoded

__all__ = ("ArrayCodec", "dtype_in", "is_array_type", "numpy")

#: Up to so many bytes an array is joined with its header: one copy costs less than two parts.
JOINED_MAX = 4096
#: Headers that a codec remembers. A stream whose arrays have more shapes than that makes them anew.
HEADERS_MAX = 256
#: Kinds of scalars that are no dtype.
_ABSTRACT = (
    "generic",
    "number",
    "integer",
    "signedinteger",
    "unsignedinteger",
    "inexact",
    "floating",
    "complexfloating",
    "flexible",
    "character",
)


class ArrayCodec:
    """Arrays that describe themselves; see :mod:`rstream.codecs._array_header`."""

    codec_id = NUMPY_ID
    maps_blocks = True

    def __init__(
        self,
        dtype: npt.DTypeLike | None,
        shape: tuple[int, ...] | None,
        view: bool,
        writable: bool,
        limits: Limits,
    ) -> None:
        import numpy

        self._np = numpy
        self._dtype = None if dtype is None else _checked_dtype(numpy, dtype)
        self._shape = None if shape is None else _checked_shape(shape)
        self.takes_views = view
        self._is_writable = writable
        self._limits = limits
        self._headers: dict[tuple[Any, tuple[int, ...], bool], bytes] = {}
        self._layouts: dict[bytes, Layout] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrayCodec, self._arguments(self._limits)

    def _arguments(self, limits: Limits) -> tuple[Any, ...]:
        return self._dtype, self._shape, self.takes_views, self._is_writable, limits

    def with_limits(self, limits: Limits) -> Codec[npt.NDArray[Any]]:
        return ArrayCodec(*self._arguments(limits))

    # ---- writing ----

    def encode(self, obj: npt.NDArray[Any]) -> Encoded:
        array = self.as_array(obj)
        header = self.header_of(array)
        if array.nbytes <= JOINED_MAX:
            return header + array.tobytes("A")
        return [header, self.elements_of(array)]

    def header_of(self, array: npt.NDArray[Any]) -> bytes:
        """The header of an array.

        Raises:
            CodecError: the codec cannot send such arrays.
        """
        is_fortran = array.flags.fnc
        key = (array.dtype, array.shape, is_fortran)
        return self._headers.get(key) or self._make_header(array, is_fortran)

    def elements_of(self, array: npt.NDArray[Any]) -> Buffer:
        """The elements of an array in their order; only of one that is not contiguous a copy."""
        return array.ravel("A").view(self._np.uint8).data if array.nbytes else b""

    def as_array(self, obj: Any) -> npt.NDArray[Any]:
        """The array of an object.

        Raises:
            CodecError: it is none, one with a mask, or numpy cannot read it.
        """
        np: Any = self._np
        class_: Any = obj.__class__
        if class_ is np.ndarray:
            return obj
        is_masked = isinstance(obj, np.ma.MaskedArray)
        if is_masked or not (hasattr(obj, "__array__") or isinstance(obj, (list, tuple))):
            raise CodecError(
                f"the numpy codec sends arrays, not {name_of(class_)}",
                hint="send array.filled(value), or its data and its mask"
                if is_masked
                else "send numpy.asarray(it), or open both ends with another codec",
            )
        try:
            return np.asarray(obj)
        except Exception as error:  # rows of several lengths, a tensor on a GPU
            raise_of_handler(error)
            raise CodecError(f"{name_of(class_)} is no array of numpy: {error}") from error

    def _make_header(self, array: npt.NDArray[Any], is_fortran: bool) -> bytes:
        dtype, shape = array.dtype, array.shape
        if dtype.hasobject:
            raise CodecError(
                f"an array of dtype {dtype} holds Python objects, not their bytes",
                hint='convert it: astype("f8"), astype("U"), tolist() for codec="msgpack"; mixed '
                "columns are a structured dtype or a DataFrame",
            )
        if not self._fits(dtype, shape):
            raise CodecError(
                f"numpy codec of {self._expected()} cannot send an array of "
                f"{_describe(dtype, shape)}",
                hint="convert it with astype and reshape, or give both ends its dtype and shape",
            )
        try:
            header = header_of(dtype, shape, is_fortran=is_fortran)
        except ValueError as error:
            raise CodecError(
                f"an array of {_describe(dtype, shape)}: {error}",
                hint='send it as one of numpy\'s dtypes: astype("f4"), or view("u2") of its bytes',
            ) from error
        if len(self._headers) >= HEADERS_MAX:
            self._headers.clear()
        self._headers[dtype, shape, is_fortran] = header
        return header

    def _fits(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
        if self._dtype is not None and dtype != self._dtype:
            return False
        wanted = self._shape
        return wanted is None or (
            len(shape) == len(wanted)
            and all(most in (-1, size) for most, size in zip(wanted, shape, strict=True))
        )

    def _expected(self) -> str:
        return _describe(self._dtype, self._shape)

    # ---- reading ----

    def decode_many(self, messages: Sequence[Buffer]) -> list[npt.NDArray[Any]]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: Buffer) -> npt.NDArray[Any]:
        # Of a leased message the array holds the memory view, and that the lease.
        data = message if isinstance(message, bytes) else memoryview(message)
        try:
            header = bytes(data[: header_length_of(data)])
            return self.array_of(header, data, len(header), len(data) - len(header))
        except CodecError as error:
            raise bare(error) from None
        except Exception as error:  # struct.error, and what numpy has against a dtype or a size
            raise_of_handler(error)
            raise decode_error("array of numpy", index, message, error) from bare(error)
        finally:
            data = b""  # else the traceback of an error would hold the lease

    def array_of(self, header: bytes, data: Buffer, begin: int, length: int) -> npt.NDArray[Any]:
        """The array of a header, whose elements are ``length`` bytes of ``data``.

        Raises:
            CodecError: the codec takes no such arrays.
            Exception: header and length do not fit, or numpy refuses them.
        """
        np = self._np
        layout = self._layouts.get(header) or self._learn(header)
        if length != layout.length - layout.offset:
            raise ValueError(
                f"an array of {_describe(layout.dtype, layout.shape)} takes "
                f"{layout.length - layout.offset} bytes, {length} are there"
            )
        if not length:
            array = np.empty(layout.shape, layout.dtype, layout.order)
            array.flags.writeable = self._is_writable
            return array
        whole: Any = data  # numpy has a protocol of its own for buffers
        # numpy.ndarray() would not hold the lease of a view.
        flat: npt.NDArray[Any] = np.frombuffer(whole, layout.dtype, layout.count, begin)
        array = flat.reshape(layout.shape, order=layout.order)
        if self._is_writable:
            return array.copy("K")
        array.setflags(write=False)
        return array

    def _learn(self, header: bytes) -> Layout:
        layout = layout_of(header)
        if not self._fits(layout.dtype, layout.shape):
            raise CodecError(
                f"the publisher sends an array of {_describe(layout.dtype, layout.shape)}, this "
                f"reader expects {self._expected()}",
                hint="open both ends with the same dtype and shape, or this one without",
            )
        if layout.length == layout.offset:  # elements without bytes: the shape may claim any number
            rows = math.prod(size for size in layout.shape if size)
            self._limits.check(layout.length, rows=rows)
        if len(self._layouts) >= HEADERS_MAX:
            self._layouts.clear()
        self._layouts[header] = layout
        return layout


def _describe(dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None) -> str:
    kind = "any dtype" if dtype is None else str(dtype)
    return kind if shape is None else f"{kind} {shape}"


def _checked_dtype(numpy: Any, dtype: npt.DTypeLike) -> np.dtype[Any]:
    try:
        checked: np.dtype[Any] = numpy.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ConfigError(
            f"numpy codec: dtype={dtype!r}: {error}",
            hint='give a dtype of numpy, such as "f4" or numpy.float32',
        ) from error
    if checked.hasobject:
        raise ConfigError(
            f"numpy codec: dtype {checked} holds Python objects",
            hint='name the type of the elements, such as "f8" or "U10"; objects need '
            'codec="msgpack"',
        )
    return checked


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = (None,)
    if not all(map(is_whole, sizes)):
        raise ConfigError(
            f"numpy codec: shape={shape!r}: must be a tuple of whole numbers, such as (3,)"
        )
    if any(size < -1 for size in shape):
        raise ConfigError(
            f"numpy codec: shape {shape}: a size is -1 (any) or more",
        )
    return tuple(map(int, shape))


def numpy(
    dtype: npt.DTypeLike | None = None,
    shape: tuple[int, ...] | None = None,
    *,
    view: bool = False,
    writable: bool = False,
    limits: Limits = LIMITS,
) -> Codec[npt.NDArray[Any]]:
    """NumPy arrays; dtype, shape and order travel in each message.

    Any array goes: of numbers, texts, times, structured dtypes, either byte order, without
    dimensions or elements. What is contiguous (C or Fortran order) is sent without a copy of its
    own. Not sent: object dtypes, masks, what a subclass adds.

    Args:
        dtype: if given, arrays of another dtype are an error at both ends; the reader's says what
            the publisher sends and what was expected.
        shape: likewise; a size of -1 stands for any.
        view: False: each array is a copy that you may keep. True: an array of 4 KiB or more lies in
            the transport's memory, without that copy, and holds it for as long as it, or anything
            made of it by slicing, is there. Readers only.
        writable: True copies each array once more, so that it can be changed in place; False:
            arrays are read-only.
        limits: how many elements an array without bytes may have. Readers only.
    Raises:
        ConfigError: numpy is not installed, or an argument cannot be used.

    Example::

        with rstream.subscriber("frames", codec=rstream.codecs.numpy("u1", (-1, -1, 3))) as sub:
            for frame in sub:
                print(frame.shape, frame.mean())
    """
    if view and writable:
        raise ConfigError(
            "numpy codec: view=True and writable=True: a view is the memory of all readers",
            hint="leave view out, or copy the arrays that you change: array.copy()",
        )
    try:
        return ArrayCodec(dtype, shape, view, writable, limits)
    except ImportError as error:
        raise ConfigError(f"the numpy codec needs numpy: {how_to_install('numpy')}") from error


def is_array_type(type_: Any) -> bool:
    """Whether it is ``numpy.ndarray`` or such a type with parameters, ``NDArray[numpy.float64]``.

    Does not import numpy.
    """
    origin = get_origin(type_) or type_
    return getattr(origin, "__module__", "") == "numpy" and name_of(origin) == "ndarray"


def dtype_in(type_: Any) -> npt.DTypeLike | None:
    """The dtype that an array type asks for; None: any."""
    import numpy

    np: Any = numpy  # the types of its abstract kinds are incomplete
    for argument in get_args(type_)[1:]:
        for kind in get_args(argument):
            if not isinstance(kind, type) or not issubclass(kind, np.generic):
                continue
            abstract = [getattr(np, name) for name in _ABSTRACT]
            dtype = None if kind in abstract else np.dtype(kind)
            return dtype if dtype is not None and dtype.itemsize else None
    return None

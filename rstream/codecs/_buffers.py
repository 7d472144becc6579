"""Arrays, tensors and tables anywhere in a structure: buffers beside it, to which it refers.

In the structure, msgpack, stands an extension type for each of them, little endian:

    120  array: u32 index of the buffer with its elements, then the header of the array
         (_array_header.py)
    121  scalar of numpy: header of an array without dimensions, then the element
    122  tensor of torch: u32 index, u8 length of a name, the name of a dtype that numpy has not, or
         nothing, then the header of the array of its bits
    123  buffer of Arrow: u32 index
    124  table: u32 index of the buffer with its Arrow IPC stream, then what it was: ``batch``,
         ``table``, ``pandas`` or ``polars``

Each buffer has one reference at most, so no message becomes more memory than it has bytes. Nothing
here imports a package to write: who has such an object has imported it.
"""

# No part of torch and pyarrow has types here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import struct
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, get_origin

from rstream.codecs._array_header import header_length_of
from rstream.codecs._arrow import PANDAS_VALUE_BYTES, arrow, form_of
from rstream.codecs._arrow_sizes import claim_of
from rstream.codecs._base import name_of
from rstream.codecs._kinds import ARRAY, BUFFER, DLPACK, SCALAR, TABLE, TENSOR, kind_of
from rstream.codecs._numpy import ArrayCodec, dtype_in, is_array_type
from rstream.codecs._scalars import is_plain_scalar
from rstream.errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from rstream.codecs._base import Codec
    from rstream.codecs._limits import Limits

__all__ = ("Makers", "References", "Taken", "fitted")

ARRAY_CODE, SCALAR_CODE, TENSOR_CODE, BUFFER_CODE, TABLE_CODE = range(120, 125)
_INDEX: Final = struct.Struct("<I")
_TENSOR: Final = struct.Struct("<IB")  # index, length of the dtype's name
#: The device type of DLPack that means the memory of this host.
_HOST: Final = 1
#: Dtypes of torch that numpy has not, and of which kind of numbers their bits are sent.
_BITS: Final = {
    "bfloat16": "int16",
    "float8_e4m3fn": "uint8",
    "float8_e4m3fnuz": "uint8",
    "float8_e5m2": "uint8",
    "float8_e5m2fnuz": "uint8",
    "float8_e8m0fnu": "uint8",
    "float4_e2m1fn_x2": "uint8",
    "complex32": "int32",
}
_FORMS: Final = {b"batch": "batch", b"table": "table", b"pandas": "pandas", b"polars": "polars"}
#: What a value of a table takes even if it has no bytes in the message.
_TABLE_VALUE_BYTES: Final = {b"pandas": PANDAS_VALUE_BYTES}
_CLASSES: Final = {
    "batch": "pyarrow.RecordBatch",
    "table": "pyarrow.Table",
    "pandas": "pandas.DataFrame",
    "polars": "polars.DataFrame",
}


class Makers:
    """The codecs of what lies in buffers; each is made when it is needed first.

    Args:
        view: a reader's tables point into the memory of the transport.
        writable: a reader's arrays are copied, so that they can be changed.
        limits: what a message may become.
    """

    def __init__(self, *, view: bool, writable: bool, limits: Limits) -> None:
        self.limits = limits
        self._view = view
        self._is_writable = writable
        self._arrays: ArrayCodec | None = None
        self._tables: dict[str, Codec[Any]] = {}

    @property
    def arrays(self) -> ArrayCodec:
        """The codec of arrays."""
        if self._arrays is None:
            self._arrays = ArrayCodec(None, None, False, self._is_writable, self.limits)
        return self._arrays

    def tables(self, form: str) -> Codec[Any]:
        """The codec of tables that arrive in one form."""
        if form not in self._tables:
            package, _, name = _CLASSES[form].partition(".")
            self._tables[form] = arrow(
                getattr(__import__(package), name), view=self._view, limits=self.limits
            )
        return self._tables[form]


class References:
    """The references and buffers of one message that is being written.

    Attributes:
        buffers: each of them in parts.
        is_needed: whether a message must say more than plain msgpack can.
    """

    def __init__(self, makers: Makers) -> None:
        import msgspec

        self._ext = msgspec.msgpack.Ext
        self.buffers: list[list[Buffer]] = []
        self.is_needed = False
        self._makers = makers

    def refer(self, obj: Any) -> object:
        """The extension type of an object.

        Returns:
            NotImplemented: it is nothing that lies in a buffer.
        Raises:
            CodecError: it cannot be sent.
        """
        write = _WRITERS.get(kind_of(obj.__class__))
        if write is None:
            return NotImplemented
        return write(self, obj)

    def _extension(self, code: int, data: bytes) -> object:
        self.is_needed = True
        return self._ext(code, data)

    def _add(self, *parts: Buffer) -> int:
        self.buffers.append(list(parts))
        return len(self.buffers) - 1

    def _array(self, array: Any) -> object:
        arrays = self._makers.arrays
        array = arrays.as_array(array)
        header = arrays.header_of(array)
        index = self._add(arrays.elements_of(array))
        return self._extension(ARRAY_CODE, _INDEX.pack(index) + header)

    def _scalar(self, scalar: Any) -> object:
        if is_plain_scalar(scalar.dtype):
            return NotImplemented
        array = sys.modules["numpy"].asarray(scalar)
        header = self._makers.arrays.header_of(array)
        return self._extension(SCALAR_CODE, header + array.tobytes())

    def _tensor(self, tensor: Any) -> object:
        torch: Any = sys.modules["torch"]
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
            raise CodecError(
                f"a tensor on {tensor.device}, {tensor.layout}: only dense tensors on the CPU go",
                hint="send tensor.cpu(), or tensor.to_dense()",
            )
        plain = tensor.detach().resolve_conj().resolve_neg()
        name = str(plain.dtype).removeprefix("torch.")
        if name in _BITS:
            plain = plain.view(getattr(torch, _BITS[name]))
        else:
            name = ""
        try:
            array = plain.numpy()
        except (TypeError, RuntimeError) as error:
            raise CodecError(
                f"a tensor of {tensor.dtype}: {error}",
                hint="send it as a dense tensor of numbers, such as tensor.to(torch.float32)",
            ) from error
        arrays = self._makers.arrays
        index = self._add(arrays.elements_of(array))
        head = _TENSOR.pack(index, len(name)) + name.encode()
        return self._extension(TENSOR_CODE, head + arrays.header_of(array))

    def _dlpack(self, obj: Any) -> object:
        import numpy

        device = obj.__dlpack_device__()
        if device[0] != _HOST:
            raise CodecError(
                f"{name_of(type(obj))} lies on DLPack device {tuple(map(int, device))}, not in the "
                "memory of the host",
                hint="copy it there first, such as numpy.asarray(it) or its cpu()",
            )
        try:
            array = numpy.from_dlpack(obj)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise CodecError(
                f"{name_of(type(obj))} cannot be read as an array: {error}",
                hint="send it as one of numpy's dtypes, such as it.astype('float32')",
            ) from error
        return self._array(array)

    def _buffer(self, buffer: Any) -> object:
        return self._extension(BUFFER_CODE, _INDEX.pack(self._add(buffer)))

    def _table(self, table: Any) -> object:
        form = form_of(table.__class__)
        data = self._makers.tables(form).encode(table)
        index = self._add(*(data if isinstance(data, list) else [data]))
        return self._extension(TABLE_CODE, _INDEX.pack(index) + form.encode())


_WRITERS: Final[dict[str, Callable[[References, Any], object]]] = {
    ARRAY: References._array,  # pyright: ignore[reportPrivateUsage] - of this file
    SCALAR: References._scalar,  # pyright: ignore[reportPrivateUsage]
    TENSOR: References._tensor,  # pyright: ignore[reportPrivateUsage]
    DLPACK: References._dlpack,  # pyright: ignore[reportPrivateUsage]
    BUFFER: References._buffer,  # pyright: ignore[reportPrivateUsage]
    TABLE: References._table,  # pyright: ignore[reportPrivateUsage]
}


class Taken:
    """The buffers of one message that is being read, each of which is taken once.

    Args:
        makers: make what lies in them.
        data: the message: ``bytes``, or a memory view of the transport's memory.
        places: begin and length of each buffer in it.
        as_plain: scalars of numpy become values of Python.

    Attributes:
        has_scalars: whether one of the extension types was a scalar of numpy.
    """

    def __init__(
        self,
        makers: Makers,
        data: bytes | memoryview,
        places: list[tuple[int, int]],
        *,
        as_plain: bool = False,
    ) -> None:
        self.has_scalars = False
        self._as_plain = as_plain
        self._rows = self._decoded_bytes = 0  # what the parts of the message claim so far
        self._makers = makers
        self._data = data
        self._places: list[tuple[int, int] | None] = list(places)

    def object_of(self, code: int, data: memoryview) -> object:
        """The object of an extension type.

        Raises:
            Exception: there is none.
        """
        if code == SCALAR_CODE:
            return self._scalar(bytes(data))
        if code not in (ARRAY_CODE, TENSOR_CODE, BUFFER_CODE, TABLE_CODE):
            raise ValueError(f"extension type {code} is unknown in a message with buffers")
        (index,) = _INDEX.unpack_from(data)
        rest = bytes(data[_INDEX.size :])
        if code == ARRAY_CODE:
            return self._array(index, rest)
        if code == TENSOR_CODE:
            begin = 1 + rest[0]
            return self._tensor(rest[1:begin].decode("ascii"), self._array(index, rest[begin:]))
        if code == BUFFER_CODE:
            return self._buffer(index)
        return self._table(index, rest)

    def _take(self, index: int) -> tuple[int, int]:
        place = self._places[index] if index < len(self._places) else None
        if place is None:
            raise ValueError(
                f"it refers to buffer {index} of {len(self._places)}, or twice to the same one"
            )
        self._places[index] = None
        return place

    def _part(self, index: int) -> memoryview:
        begin, length = self._take(index)
        return memoryview(self._data)[begin : begin + length]

    def _array(self, index: int, header: bytes) -> Any:
        begin, length = self._take(index)
        array = self._makers.arrays.array_of(header, self._data, begin, length)
        if not length:  # elements without bytes
            self._claim(rows=array.size)
        return array

    def _claim(self, *, decoded_bytes: int = 0, rows: int = 0) -> None:
        """Many small parts that claim to be large are one large claim."""
        self._rows += rows
        self._decoded_bytes += decoded_bytes
        length = memoryview(self._data).nbytes
        self._makers.limits.check(length, decoded_bytes=self._decoded_bytes, rows=self._rows)

    def _scalar(self, data: bytes) -> object:
        self.has_scalars = True
        end = header_length_of(data)
        array = self._makers.arrays.array_of(data[:end], data, end, len(data) - end)
        if array.shape:
            raise ValueError(f"a scalar of shape {array.shape}")
        if not self._as_plain:
            return array[()]
        value = array.item()
        return value if isinstance(value, (int, float, complex, str, bytes)) else float(value)

    def _tensor(self, name: str, array: Any) -> object:
        if name and array.dtype.name != _BITS.get(name):
            raise ValueError(f"a tensor of dtype {name!r} in {array.dtype}")
        try:
            import torch  # pyright: ignore[reportMissingImports] - of no extra
        except ImportError:
            if not name:
                return array
            raise ValueError(f"numpy has no {name}: a reader of it needs torch") from None
        # torch has no tensors that cannot be written to.
        tensor: Any = torch.from_numpy(array if array.flags.writeable else array.copy("K"))
        return tensor.view(getattr(torch, name)) if name else tensor

    def _buffer(self, index: int) -> object:
        part = self._part(index)
        try:
            import pyarrow  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            return bytes(part)
        return pyarrow.py_buffer(part)

    def _table(self, index: int, form: bytes) -> object:
        part: Any = self._part(index)  # the codec of tables takes any buffer
        claim = claim_of(part)
        value_bytes = claim.values * _TABLE_VALUE_BYTES.get(form, 0)
        self._claim(decoded_bytes=max(claim.buffer_bytes, value_bytes), rows=claim.rows)
        return self._makers.tables(_FORMS[form]).decode_many([part])[0]


_dtype_in = lru_cache(maxsize=256)(dtype_in)


def fitted(type_: Any, obj: Any) -> object:
    """What a field of an array's or tensor's type gets, from what arrived.

    Returns:
        NotImplemented: the type is none of these.
    Raises:
        ValueError: an array of another dtype.
    """
    if is_array_type(type_):
        array = obj.numpy() if kind_of(type(obj)) == TENSOR else obj
        wanted = _dtype_in(type_)
        if wanted is not None and kind_of(type(array)) == ARRAY and array.dtype != wanted:
            raise ValueError(f"an array of {array.dtype}, this reader expects {wanted}")
        return array
    origin = get_origin(type_) or type_
    if kind_of(origin) == TENSOR and kind_of(type(obj)) == ARRAY:
        torch: Any = sys.modules["torch"]  # the type is one of its
        return torch.from_numpy(obj if obj.flags.writeable else obj.copy("K"))
    return NotImplemented

"""The default codec: msgpack, with arrays and tables as buffers beside it."""

from __future__ import annotations

import builtins
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Generic,
    Literal,
    TypeVar,
    cast,
    get_args,
    get_origin,
    overload,
)

from rstream import _core
from rstream._checks import short
from rstream._facts import COPIED_MAX
from rstream._process import raise_of_handler
from rstream.codecs import _frame
from rstream.codecs._accepted import Accepted
from rstream.codecs._base import bare, decode_error, name_of
from rstream.codecs._buffers import Makers, References, Taken, fitted
from rstream.codecs._limits import LIMITS, MSGPACK_FACTOR, Limits
from rstream.codecs._refused import path_of_refused
from rstream.codecs._scalars import NeedsFrame, restored, written
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from rstream.codecs._base import Codec, Encoded

T = TypeVar("T")

_HINT = (
    "send dicts, lists, numbers, texts, bytes, arrays, tables, dataclasses or msgspec.Structs; or "
    "give both ends codecs.msgpack(enc_hook=...), or another codec, such as "
    "codecs.pickle(trusted=True) where both trust each other"
)
#: For a text in the place of a type.
NO_TEXT = "give the class itself, not its name: no quotes"
_UNKNOWN_NAME = (
    "the classes of its fields must be defined in its module, outside functions and blocks of "
    "TYPE_CHECKING"
)


class _Msgpack(Generic[T]):
    """msgpack by msgspec; decoding checks the type. Messages with arrays: see ``_buffers.py``."""

    codec_id = 2
    maps_blocks = True

    def __init__(
        self,
        type_: type[T] | None,
        view: bool,
        writable: bool,
        enc_hook: Callable[[Any], object] | None,
        dec_hook: Callable[[Any, Any], object] | None,
        limits: Limits,
    ) -> None:
        import msgspec

        self._msgspec = msgspec
        self._type = type_
        self._is_writable = writable
        self._enc_hook, self._dec_hook = enc_hook, dec_hook
        self.takes_views = view
        self._makers = Makers(view=view, writable=writable, limits=limits)
        #: A message up to so many bytes cannot become too much.
        self._harmless_bytes = limits.decoded_bytes // MSGPACK_FACTOR
        #: Several messages of one batch are no longer than COPIED_MAX together, unless leased.
        self._looks_at_each = view or self._harmless_bytes < COPIED_MAX
        self._error = msgspec.MsgspecError
        self._accepted = Accepted(type_)
        #: The same set as in ``_accepted``. Publishers ask it before they call quick_encode.
        self.accepts = self._accepted.exact
        # Also for publishers, which call encode() when it raises.
        self.quick_encode = self._encode = msgspec.msgpack.Encoder(
            enc_hook=written if enc_hook is None else self._plain
        ).encode
        self._reading: dict[str, Any] = (
            {} if type_ is None else {"type": type_, "dec_hook": self._restored}
        )
        self._decode = msgspec.msgpack.Decoder(**self._reading).decode
        #: The last object needed a message with buffers, so the next one is tried as such at once.
        self._has_buffers = False
        self._type_name = "msgpack" if type_ is None else f"msgpack of {name_of(type_)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _Msgpack, self._arguments(self._makers.limits)

    def _arguments(self, limits: Limits) -> tuple[Any, ...]:
        first = (self._type, self.takes_views, self._is_writable)
        return *first, self._enc_hook, self._dec_hook, limits

    def with_limits(self, limits: Limits) -> Codec[T]:
        return _Msgpack(*self._arguments(limits))

    # ---- writing ----

    def encode(self, obj: T) -> Encoded:
        if self.accepts is not None and obj.__class__ not in self.accepts:
            self._check(obj)
        if not self._has_buffers:
            try:
                return self._encode(obj)
            except NeedsFrame:  # it has arrays
                pass
            except Exception as error:
                raise_of_handler(error)  # takes 0.1 ms
                # It cannot be encoded: the long way says where.
        return self._encode_with_buffers(obj)

    def _check(self, obj: object) -> None:
        """Refuse an object that is none of this codec's type."""
        if self._accepted.takes(obj, self._as_read):
            return
        raise CodecError(
            f"expected {self._accepted}, got {name_of(type(obj))}: {short(obj)}",
            hint=f"send what the publisher was opened for, or open it for {name_of(type(obj))}",
        )

    def _as_read(self, obj: Any) -> object:
        data = self._encode_with_buffers(obj)
        return self._decode_one(0, b"".join(data) if isinstance(data, list) else data)

    def _encode_with_buffers(self, obj: object) -> Encoded:
        try:
            structure, references = self._structure_of(obj)
        except Exception as error:
            raise_of_handler(error)
            raise self._refusal(obj, error) from error
        self._has_buffers = references.is_needed
        return _frame.pack(structure, references.buffers) if references.is_needed else structure

    def _structure_of(self, obj: object) -> tuple[bytes, References]:
        references = References(self._makers)

        def hook(part: Any) -> object:
            extension = references.refer(part)
            return self._plain(part) if extension is NotImplemented else extension

        return self._msgspec.msgpack.encode(obj, enc_hook=hook), references

    def _plain(self, obj: Any) -> object:
        if self._enc_hook is None:
            return written(obj)
        try:
            return written(obj)
        except NeedsFrame:
            raise
        except TypeError:
            return self._enc_hook(obj)

    def _refusal(self, obj: object, error: Exception) -> CodecError:
        is_endless = isinstance(error, RecursionError)  # or it contains itself
        path = "" if is_endless else path_of_refused(obj, self._structure_of)
        text, hint = str(error) or repr(error), _HINT
        if ".Series " in text:
            hint = "send its to_frame() or to_numpy()"
        elif isinstance(error, BufferError):
            hint = "send bytes(it)"
        if isinstance(error, CodecError):
            text, hint = "".join(map(str, error.args)), error.hint
        if path:
            text = f"{path}: {text}"
        return CodecError(f"{name_of(type(obj))} cannot be written as msgpack: {text}", hint=hint)

    # ---- reading ----

    def decode_many(self, messages: Sequence[Buffer]) -> list[T]:
        decode = self._decode
        try:
            if self._are_harmless(messages):
                return [decode(message) for message in messages]
        except (ValueError, RecursionError, self._error):
            pass
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _are_harmless(self, messages: Sequence[Buffer]) -> bool:
        """Whether none can become too much. A look at each costs 20 ns."""
        if len(messages) != 1 and not self._looks_at_each:
            return True
        lengths = map(len, cast("Sequence[bytes]", messages))
        return max(lengths, default=0) <= self._harmless_bytes

    def _decode_one(self, index: int, message: Buffer) -> T:
        # What is made of a leased message holds the memory view, and that the lease.
        data = message if isinstance(message, bytes) else memoryview(message)
        try:
            if data[:1] == b"\xc1":
                return self._decode_frame(data)
            self._check_cost(data)
            return self._decode(data)
        except CodecError as error:
            raise bare(error) from None
        except Exception as error:  # also what numpy, pyarrow and torch have against it
            raise_of_handler(error)
            raise decode_error(self._type_name, index, message, error) from bare(error)
        finally:
            data = b""  # else the traceback of an error would hold the lease

    def _check_cost(self, data: bytes | memoryview) -> None:
        """Refuse msgpack that would become too much."""
        length = len(data)
        if length > self._harmless_bytes:
            limits = self._makers.limits
            cost = _core.msgpack_cost(data, max(length, limits.decoded_bytes))
            limits.check(length, decoded_bytes=cost)

    def _decode_frame(self, data: bytes | memoryview) -> T:
        structure, places = _frame.unpack(data)
        self._check_cost(structure)
        taken = Taken(self._makers, data, places)
        decode = self._msgspec.msgpack.decode
        try:
            return decode(structure, ext_hook=taken.object_of, **self._reading)
        except self._msgspec.ValidationError:
            plain = Taken(self._makers, data, places, as_plain=True)
            found = decode(structure, ext_hook=plain.object_of)
            if not plain.has_scalars:
                raise
        # Perhaps a float32 where the type has a float.
        return self._msgspec.convert(found, self._type, dec_hook=self._restored)

    def _restored(self, type_: Any, obj: Any) -> object:
        for restore in (fitted, restored):
            found = restore(type_, obj)
            if found is not NotImplemented:
                return found
        return obj if self._dec_hook is None else self._dec_hook(type_, obj)


@overload
def msgpack(
    *,
    view: bool = False,
    writable: bool = False,
    enc_hook: Callable[[Any], object] | None = None,
    limits: Limits = LIMITS,
) -> Codec[Any]: ...
@overload
def msgpack(
    type: type[T],
    *,
    view: bool = False,
    writable: bool = False,
    enc_hook: Callable[[Any], object] | None = None,
    dec_hook: Callable[[Any, Any], object] | None = None,
    limits: Limits = LIMITS,
) -> Codec[T]: ...
def msgpack(
    type: type[Any] | None = None,
    *,
    view: bool = False,
    writable: bool = False,
    enc_hook: Callable[[Any], object] | None = None,
    dec_hook: Callable[[Any, Any], object] | None = None,
    limits: Limits = LIMITS,
) -> Codec[Any]:
    """msgpack by msgspec, the default codec.

    Arrays of NumPy, tensors of torch and of others that know DLPack (on the CPU), buffers and
    tables of Arrow and data frames may lie anywhere in an object. They travel as buffers beside the
    msgpack, and arrive as what they were; a tensor as an array where torch is not installed, and of
    other packages than torch always.

    Args:
        type: the type to decode to and to check (``msgspec.Struct``, dataclass, ``list[int]``, a
            model of pydantic, …); None: plain dicts, lists, numbers, strings. Then a set arrives as
            a list, a date or a Decimal as its text (docs/how-to/codecs.md). A publisher refuses
            objects of other classes.
        view: True: arrays and tables in messages of 4 KiB or more lie in the transport's memory,
            and hold it for as long as they are there. Readers only.
        writable: True copies each array once more, so that it can be changed in place; False:
            arrays are read-only. Tensors can always be changed.
        enc_hook: for publishers; gets an object of a class that is not known here, and returns one
            that is.
        dec_hook: for readers with a type; gets a class that is not known here and what arrived for
            it, and returns an object of the class.
        limits: what a message may become. Readers only.
    Raises:
        ConfigError: msgspec cannot handle ``type``, or an argument cannot be used.
    """
    if view and writable:
        raise ConfigError(
            "msgpack codec: view=True and writable=True: a view is the memory of all readers",
            hint="leave view out, or copy the arrays that you change: array.copy()",
        )
    for name, hook in (("enc_hook", enc_hook), ("dec_hook", dec_hook)):
        if hook is not None and not callable(hook):
            raise ConfigError(f"msgpack codec: {name}={hook!r} cannot be called")
    try:
        return _Msgpack(type, view, writable, enc_hook, dec_hook, limits)
    except (TypeError, NameError) as error:
        raise ConfigError(
            f"type {name_of(type)} cannot be used with msgpack: {error}",
            hint=_UNKNOWN_NAME if isinstance(error, NameError) else _hint_at_type(type),
        ) from error


def _hint_at_type(given: Any) -> str:
    parts = [given]
    for part in parts:
        if isinstance(part, (str, ForwardRef)):
            return NO_TEXT
        if get_origin(part) not in (Literal, Annotated):
            parts += get_args(part)
    if isinstance(given, builtins.type) or get_origin(given) is not None:
        return ""
    return (
        "give a class, or a form such as list[int] or dict[str, float]; a codec, such as "
        "rstream.codecs.raw(), goes into codec="
    )

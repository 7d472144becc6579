"""Single values that msgspec does not know: written as the value of Python that they stand for, and
made again where a type asks for them.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from rstream.codecs._kinds import IN_BUFFERS, MISSING, MODEL, SCALAR, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("NeedsFrame", "is_plain_scalar", "restored", "written")

#: Scalars of numpy that are Python's own: ``asarray`` of the value has the same dtype again.
_PYTHONS: Final = ("<f8", "<i8", "|b1")
#: Kinds of dtype of texts and times, which have a value in Python.
_TEXTS: Final = "US"
_TIMES: Final = "mM"


class NeedsFrame(TypeError):
    """Raised for an object that does not fit plain msgpack, only a message with buffers."""


def written(obj: Any) -> object:
    """What plain msgpack writes for an object that msgspec does not know.

    Raises:
        NeedsFrame: it lies in a buffer, or is a scalar of numpy whose type would be lost.
        TypeError: nothing.
        ValueError: a time that Python's own types cannot tell.
    """
    kind = kind_of(obj.__class__)
    if kind in IN_BUFFERS:
        raise NeedsFrame(f"Encoding objects of type {_title(obj.__class__)} is unsupported")
    if kind == SCALAR:
        return _value_of(obj)
    if kind == MODEL:
        return obj.model_dump(round_trip=True)  # what model_validate takes
    if kind == MISSING:
        return None
    for base, plain in _BASES:
        if isinstance(obj, base):
            return plain(obj)
    raise TypeError(f"Encoding objects of type {_title(obj.__class__)} is unsupported")


def is_plain_scalar(dtype: Any) -> bool:
    """Whether a scalar of numpy is written as a value of Python."""
    return dtype.str in _PYTHONS or dtype.kind in _TEXTS or dtype.kind in _TIMES


def _value_of(scalar: Any) -> object:
    dtype = scalar.dtype
    if not is_plain_scalar(dtype):
        raise NeedsFrame
    return _time(scalar) if dtype.kind in _TIMES else scalar.item()


def _time(obj: Any) -> object:
    if obj != obj:  # not a time
        return None
    value: object = obj.item()
    if isinstance(value, int):  # finer than a microsecond, or beyond the years of datetime
        coarse = obj.astype(f"{obj.dtype.kind}8[us]")
        value = coarse.item()
        if coarse != obj or isinstance(value, int):
            raise _finer(obj)
    return value


def _finer(obj: object) -> ValueError:
    return ValueError(
        f"{obj!r} has no equal among Python's times; send its number (obj.astype(int), obj.value), "
        "or an array of it"
    )


def _plain_datetime(obj: Any) -> datetime:
    if getattr(obj, "nanosecond", 0):  # of pandas
        raise _finer(obj)
    clock = (obj.hour, obj.minute, obj.second, obj.microsecond)
    return datetime(obj.year, obj.month, obj.day, *clock, tzinfo=obj.tzinfo, fold=obj.fold)


def _plain_timedelta(obj: Any) -> timedelta:
    if getattr(obj, "nanoseconds", 0):
        raise _finer(obj)
    return timedelta(obj.days, obj.seconds, obj.microseconds)


def _plain_time(obj: time) -> time:
    clock = (obj.hour, obj.minute, obj.second, obj.microsecond)
    return time(*clock, tzinfo=obj.tzinfo, fold=obj.fold)


#: Of their subclasses msgspec refuses objects. A datetime is a date.
_BASES: Final[tuple[tuple[type, Callable[[Any], object]], ...]] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (bytes, lambda obj: bytes(memoryview(obj))),
    (bytearray, memoryview),
    (datetime, _plain_datetime),
    (date, lambda obj: date(obj.year, obj.month, obj.day)),
    (time, _plain_time),
    (timedelta, _plain_timedelta),
    (Decimal, Decimal),
)
#: What a field of a subclass is made of again.
_REMADE: Final = (str, int, float, bytes)


def restored(type_: Any, obj: Any) -> object:
    """An object of a type that msgspec does not know, from what arrived.

    msgspec refuses the result if it is of another type.

    Returns:
        NotImplemented: the type is none of these.
    Raises:
        ValueError: the value does not fit.
    """
    if isinstance(type_, type) and isinstance(obj, type_):
        return obj
    kind = kind_of(type_)
    if kind == SCALAR:
        return _scalar(type_, obj)
    if kind == MODEL:
        return _model(type_, obj)
    if not isinstance(type_, type):
        return NotImplemented
    remake: Any = type_
    if type_.__module__.startswith("pandas.") and issubclass(type_, (datetime, timedelta)):
        return remake(obj) if isinstance(obj, (str, datetime, timedelta)) else obj
    for base in _REMADE:
        if issubclass(type_, base) and type(obj) is base:
            return remake(obj)
    return NotImplemented


def _scalar(type_: Any, obj: Any) -> object:
    numpy: Any = sys.modules["numpy"]  # the type is one of its
    if issubclass(type_, numpy.bool_):
        is_like = isinstance(obj, bool)
    elif issubclass(type_, numpy.integer):
        is_like = isinstance(obj, int) and not isinstance(obj, bool)
    elif issubclass(type_, numpy.complexfloating):
        is_like = isinstance(obj, (int, float, numpy.complexfloating))
    elif issubclass(type_, (numpy.str_, numpy.bytes_)):
        is_like = isinstance(obj, (str, bytes))
    else:
        is_like = issubclass(type_, numpy.floating) and isinstance(obj, (int, float))
    if not is_like:
        return obj
    try:
        return type_(obj)
    except (OverflowError, TypeError) as error:
        raise ValueError(str(error)) from error


def _model(type_: Any, obj: Any) -> object:
    try:
        return type_.model_validate(obj, by_alias=True, by_name=True)
    except TypeError:  # before pydantic 2.11
        return type_.model_validate(obj)


def _title(kind: type) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )

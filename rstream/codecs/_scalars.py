"""NumPy's scalars inside msgpack: written as the Python value they stand for, and made again."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ("restored", "written")


def written(obj: Any) -> object:
    """What msgpack writes for an object that msgspec does not know.

    Raises:
        TypeError: it is no scalar of numpy.
        ValueError: a time that Python's own types cannot tell.
    """
    # Who has such a scalar has imported numpy.
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(obj, numpy.generic):
        raise TypeError(f"Encoding objects of type {_title(obj.__class__)} is unsupported")
    if obj.dtype.kind in "mM":
        return _time(numpy, obj)
    value: object = obj.item()
    return float(obj) if isinstance(value, numpy.floating) else value  # long double


def _time(numpy: Any, obj: Any) -> object:
    if numpy.isnat(obj):
        return None
    value: object = obj.item()
    if isinstance(value, int):  # finer than a microsecond, or beyond the years of datetime
        coarse = obj.astype(f"{obj.dtype.kind}8[us]")
        value = coarse.item()
        if coarse != obj or isinstance(value, int):
            raise ValueError(
                f"{obj!r} has no equal among Python's times; send its number, obj.astype(int), or "
                "an array of it"
            )
    return value


def restored(type_: Any, obj: Any) -> object:
    """An object of a type that msgspec does not know, from what arrived.

    msgspec refuses the result if it is of another type.

    Raises:
        ValueError: the number does not fit.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not (isinstance(type_, type) and issubclass(type_, numpy.generic)):
        return obj
    if issubclass(type_, numpy.bool_):
        is_like = isinstance(obj, bool)
    elif issubclass(type_, numpy.integer):
        is_like = isinstance(obj, int) and not isinstance(obj, bool)
    else:
        is_like = issubclass(type_, numpy.floating) and isinstance(obj, (int, float))
    if not is_like:
        return obj
    try:
        return type_(obj)
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _title(kind: type) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )

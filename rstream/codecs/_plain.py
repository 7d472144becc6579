"""Rows for tables: arrays and scalars of other packages as values of Python."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Any, Final

from rstream.codecs._kinds import ARRAY, BUFFER, SCALAR, TENSOR, kind_of

__all__ = ("plain",)

_ATOMS: Final = frozenset({NoneType, bool, int, float, str, bytes, datetime})


def plain(obj: Any) -> Any:
    """The object with lists in the place of arrays, and numbers in that of NumPy's scalars.

    So checks of rows know these values, and arrays of any dimensions are lists for Arrow. The same
    object if there is nothing to do, which costs little.

    Raises:
        ValueError: an array of times that Python's own types cannot tell.
    """
    class_: Any = obj.__class__
    if class_ in _ATOMS:
        return obj
    if class_ is dict:
        if _ATOMS.issuperset(map(type, obj.values())):
            return obj
        return {key: plain(value) for key, value in obj.items()}
    if class_ is list:
        values: list[Any] = obj
        return obj if _ATOMS.issuperset(map(type, values)) else [plain(value) for value in values]
    kind = kind_of(class_)
    if kind in (ARRAY, SCALAR):
        return _listed(obj)
    if kind == TENSOR:
        return obj.tolist()
    return obj.to_pybytes() if kind == BUFFER else obj


def _listed(array: Any) -> Any:
    kind = array.dtype.kind
    if kind in "mM":
        coarse = array.astype(f"{kind}8[us]")
        if not ((coarse == array) | (array != array)).all():
            raise ValueError(f"times of {array.dtype} are finer than microseconds")
        array = coarse
    values = array.tolist()
    return float(values) if array.dtype.char == "g" and not array.shape else values

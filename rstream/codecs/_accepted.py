"""Which objects a publisher of a type takes."""

from __future__ import annotations

import types
import typing
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union

import typing_extensions

from rstream.codecs._base import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Accepted",)

#: Where the classes are from whose values another class may stand for: 1 for a float, a text for a
#: date.
_PLAIN_MODULES: Final = (
    "builtins",
    "collections",
    "collections.abc",
    "datetime",
    "decimal",
    "uuid",
)
#: Classes that are remembered; programs may make new ones for ever.
CLASSES_MAX: Final = 1024


class Accepted:
    """What a publisher of a type takes: objects of its classes and of their subclasses, and values
    of Python that its readers take for them, such as 1 for 1.0.

    Attributes:
        exact: classes of which every object is taken; None: objects of all classes are. It grows by
            the subclasses that come.
    """

    def __init__(self, type_: Any) -> None:
        found = None if type_ is None else _classes_of(type_)
        self.exact: set[type] | None = None
        self._wanted: tuple[type, ...] = ()
        if found is None:
            return
        self._wanted = tuple(found)
        self._plain = tuple(one for one in found if _is_plain(one))
        self.exact = set(found)
        if float in self.exact:
            self.exact.add(int)

    def takes(self, obj: object, as_read: Callable[[object], object]) -> bool:
        """Whether an object is taken.

        Args:
            obj: the object.
            as_read: what a reader gets of it; it raises if the reader refuses it.
        """
        if self.exact is None or obj.__class__ in self.exact:
            return True
        if isinstance(obj, self._wanted) and obj.__class__ is not bool:  # which is no int there
            if len(self.exact) < CLASSES_MAX:
                self.exact.add(type(obj))
            return True
        if not self._plain:
            return False
        try:
            return isinstance(as_read(obj), self._plain)
        except (TypeError, ValueError):
            return False

    def __str__(self) -> str:
        names = [name_of(one) for one in self._wanted if one is not types.NoneType]
        return " or ".join([*sorted(names), *["None"] * (len(names) < len(self._wanted))])


def _classes_of(type_: Any) -> set[type] | None:
    """The classes of the objects of a type; None: any, or it is not known here."""
    if type_ is None:
        return {types.NoneType}
    origin = typing.get_origin(type_)
    if origin is Annotated:
        return _classes_of(typing.get_args(type_)[0])
    if origin is Literal:
        return {type(value) for value in typing.get_args(type_)}
    if origin in (Union, types.UnionType):
        members = [_classes_of(one) for one in typing.get_args(type_)]
        known: list[set[type]] = [one for one in members if one is not None]
        return {one for each in known for one in each} if len(known) == len(members) else None
    if type(type_).__name__ == "NewType":
        return _classes_of(type_.__supertype__)
    if typing_extensions.is_typeddict(origin or type_):
        return {dict}
    found: Any = origin or type_
    if (
        not isinstance(found, type)
        or found in (object, Any)
        or typing_extensions.is_protocol(found)
        or found.__module__.partition(".")[0] == "msgspec"
    ):
        return None
    return {found}


def _is_plain(class_: type) -> bool:
    if class_ is types.NoneType:
        return False
    return class_.__module__ in _PLAIN_MODULES or issubclass(class_, Enum)

"""Which classes of exceptions an error from another process may be an instance of.

The other end only sends names. A name is looked up here, and nowhere else: no module is imported,
and no class is found, because a peer names it. The builtin exceptions are known from the start.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("known_class", "names_of", "register")

ErrorT = TypeVar("ErrorT", bound=Exception)

#: Raised here, these would mean something else than an error there (the end of an iterator), or
#: they cannot be made of a text.
_LEFT_OUT: Final = (
    StopIteration,
    StopAsyncIteration,
    SyntaxError,
    UnicodeDecodeError,
    UnicodeEncodeError,
    UnicodeTranslateError,
    BaseExceptionGroup,
    Warning,
)
#: Most names that are sent of one error: its class and its bases.
NAMES_MAX: Final = 6
NAME_LENGTH_MAX: Final = 120

_by_name: Final[dict[str, type[Exception]]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type)
    and issubclass(value, Exception)
    and value is not Exception
    and not issubclass(value, _LEFT_OUT)
    and value.__name__ == name
}
_names: Final[dict[type[BaseException], str]] = {kind: name for name, kind in _by_name.items()}


@overload
def register(kind: type[ErrorT], *, name: str | None = None) -> type[ErrorT]: ...
@overload
def register(
    kind: None = None, *, name: str | None = None
) -> Callable[[type[ErrorT]], type[ErrorT]]: ...
def register(
    kind: type[ErrorT] | None = None, *, name: str | None = None
) -> type[ErrorT] | Callable[[type[ErrorT]], type[ErrorT]]:
    """Make a class of exceptions known, so that an error of it arrives as an instance of it.

    Both ends register it, under one name. The builtin exceptions need no registration. Only the
    text of the error travels: what arrives has none of the other attributes, and ``__init__`` of
    the class is not called. Without registration it arrives as its nearest known base.

    Args:
        kind: the class; a subclass of ``Exception``.
        name: its name on the wire; None: module and qualified name, which differ between the two
            ends when the class stands in a program that is run (``__main__``).
    Returns:
        The class, so it can be a decorator.
    Raises:
        TypeError: no subclass of ``Exception``, or one that cannot be made of a text.
        ValueError: another class has the name.

    Any thread may call it.

    Example::

        @rstream.errors.register(name="shop.UnknownSymbol")
        class UnknownSymbol(Exception): ...
    """
    if kind is None:
        return lambda given: register(given, name=name)
    given: Any = kind  # untyped callers
    if not isinstance(given, type) or not issubclass(given, Exception):
        raise TypeError(f"register({kind!r}): give a subclass of Exception")
    if kind is Exception or issubclass(kind, _LEFT_OUT):
        raise TypeError(
            f"register({kind.__name__}): errors of {_left_out_base(kind)} always arrive as plain "
            "RemoteError; register a class of your own"
        )
    chosen = full_name(kind) if name is None else name
    known = _by_name.get(chosen)
    if known not in (None, kind) and full_name(known) != full_name(kind):
        raise ValueError(
            f"the name {chosen!r} belongs to {full_name(known)}; give another one: "
            f"register({kind.__name__}, name=...)"
        )
    _by_name[chosen] = kind  # a module that was loaded again has a new class of the same name
    _names[kind] = chosen
    return kind


def _left_out_base(kind: type[Exception]) -> str:
    return next((base.__name__ for base in _LEFT_OUT if issubclass(kind, base)), kind.__name__)


def full_name(kind: type[BaseException] | None) -> str:
    """Module and qualified name; of a builtin class the name alone."""
    if kind is None:
        return ""
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def names_of(error: BaseException) -> list[str]:
    """The names of an error's class and of its bases below ``Exception``, nearest first."""
    bases = [base for base in type(error).__mro__ if base not in (Exception, BaseException, object)]
    names = [_names.get(base) or full_name(base) for base in bases or [type(error)]]
    return [name[:NAME_LENGTH_MAX] for name in names[:NAMES_MAX]]


def known_class(names: list[str]) -> type[Exception] | None:
    """The first class that is known here."""
    for name in names[:NAMES_MAX]:
        kind = _by_name.get(name)
        if kind is not None:
            return kind
    return None

"""Where in a structure the object lies that cannot be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream._process import raise_of_handler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ("path_of_refused",)

#: Deeper structures are not searched.
DEPTH_MAX: Final = 100


def path_of_refused(obj: object, encode: Callable[[Any], object]) -> str:
    """The path of the first object that cannot be encoded, such as ``obs.meta[3]``.

    Args:
        obj: what was refused.
        encode: raises for what cannot be encoded.
    Returns:
        Empty: it is ``obj`` itself.
    """
    path = ""
    for _ in range(DEPTH_MAX):
        for step, child in _children(obj):
            if not _is_encodable(child, encode):
                path += step
                obj = child
                break
        else:
            break
    return path.removeprefix(".")


def _is_encodable(obj: object, encode: Callable[[Any], object]) -> bool:
    try:
        encode(obj)
    except Exception as error:  # whatever a hook of the user raises
        raise_of_handler(error)
        return False
    return True


def _children(obj: Any) -> Iterator[tuple[str, object]]:
    """The parts of an object, and how a program would write the way to each."""
    if isinstance(obj, dict):
        for key, value in obj.items():  # pyright: ignore[reportUnknownVariableType]
            is_word = isinstance(key, str) and key.isidentifier()
            yield f".{key}" if is_word else f"[{key!r}]", value
    elif isinstance(obj, (list, tuple, set, frozenset)):
        parts: list[Any] = list(obj)  # pyright: ignore[reportUnknownArgumentType] - of anything
        for index, value in enumerate(parts):
            yield f"[{index}]", value
    else:
        for name in _fields(type(obj)):
            yield f".{name}", getattr(obj, name, None)


def _fields(class_: Any) -> Iterator[str]:
    """The fields of a Struct, a dataclass, an attrs class or a model of pydantic."""
    yield from getattr(class_, "__struct_fields__", ())
    yield from getattr(class_, "__dataclass_fields__", ())
    yield from (one.name for one in getattr(class_, "__attrs_attrs__", ()))
    yield from getattr(class_, "model_fields", ())

"""The errors of a face for threads in ``async with`` and ``async for``, and of one for event loops
in ``with`` and ``for``.

Python's own say what is missing, and not what to write. The methods are added where only the
interpreter sees them, so that type checkers go on to refuse such a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("refuses_async_with", "refuses_for", "refuses_with")

C = TypeVar("C", bound="type[Any]")


def _refusal(text: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise TypeError(text)

    return refuse


def refuses_async_with(instead: str) -> Callable[[C], C]:
    """For a class whose calls block.

    Args:
        instead: what to write.
    """

    def decorate(cls: C) -> C:
        text = f"this {cls.__name__} blocks its thread; write {instead}"
        cls.__aenter__ = cls.__aexit__ = _refusal(f"async with: {text}")
        if hasattr(cls, "__iter__"):
            cls.__aiter__ = _refusal(f"async for: {text}, and `for`")
        return cls

    return decorate


def refuses_with(instead: str) -> Callable[[C], C]:
    """For a class whose calls are awaited. ``instead``: what to write."""

    def decorate(cls: C) -> C:
        refuse = _refusal(f"with: it is opened and closed in an event loop; write {instead}")
        cls.__enter__ = cls.__exit__ = refuse
        return refuses_for(cls) if hasattr(cls, "__aiter__") else cls

    return decorate


def refuses_for(cls: C) -> C:
    """For a class whose items are awaited."""
    cls.__iter__ = _refusal(f"for: the items of this {cls.__name__} are awaited; write `async for`")
    return cls

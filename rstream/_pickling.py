"""The refusal of what belongs to its process, and cannot go to another one by pickle."""

from __future__ import annotations

from typing import NoReturn

__all__ = ("refuse_pickling",)


def refuse_pickling(one: object, instead: str) -> NoReturn:
    """End ``__reduce__`` of ``one``.

    Args:
        one: what was to be pickled.
        instead: what to do.
    Raises:
        TypeError: always.
    """
    raise TypeError(f"{one!r} belongs to its process and cannot be pickled: {instead}")

"""The error of a keyword that a function does not take: it names the one meant, and all."""

from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType

__all__ = ("names_keywords", "unknown_keyword")

P = ParamSpec("P")
R = TypeVar("R")


def unknown_keyword(function: str, given: str, known: Sequence[str]) -> TypeError:
    """The error.

    Args:
        function: the name of the function that was called.
        given: the keyword that it does not take.
        known: those that it takes.
    """
    close = difflib.get_close_matches(given, known, 1)
    meant = f": did you mean {close[0]!r}?" if close else ";"
    return TypeError(
        f"{function}() got an unexpected keyword argument {given!r}{meant} "
        f"it takes {', '.join(known)}"
    )


def names_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: an unknown keyword is an error that names the known ones."""
    plain: FunctionType = function  # pyright: ignore[reportAssignmentType] - used with def only
    code = plain.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise unknown_keyword(function.__name__, name, known)
        return function(*args, **kwargs)

    return checked

"""Where an object was made, and the warning about an object that was not closed."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path


def call_site() -> str:
    """File and line of the code that called into this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    here = str(Path(__file__).parent) + os.sep
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(here)
        or frame.f_globals.get("__name__") == "typing"  # it calls the class of Publisher[T](...)
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn_unclosed(one: object, made_at: str) -> None:
    """Warn that ``one`` goes without having been closed; for its ``__del__`` alone. Where warnings
    are errors it raises: close what has a thread all the same.
    """
    warnings.warn(
        f"{one!r} was not closed; made at {made_at}", ResourceWarning, stacklevel=4, source=one
    )

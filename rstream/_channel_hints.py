"""What to do about a channel that was refused: the hints of its errors."""

from __future__ import annotations

import contextlib
import difflib
import errno
import logging
import os
from typing import TYPE_CHECKING, Final

from rstream._channel_keys import KEYS
from rstream._channel_uri import ChannelUri
from rstream.errors import ChannelError, RegistrationError, SystemCallError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ("explained", "hint_of_key", "warn_of_unknown_keys")

log = logging.getLogger("rstream")

#: How alike two keys must be, 0 to 1: "endpont" and "endpoint" are 0.93.
LIKENESS_LEAST: Final = 0.8
#: Unknown keys that are remembered, so that each is logged once.
TOLD_MAX: Final = 256
_HINT_OF_READER: Final = (
    "the endpoint of a channel is the reader's own address: give an address of this host here, "
    'or "0.0.0.0" for all of them'
)
_HINT_OF_PUBLISHER: Final = (
    "control and interface of a publisher are its own addresses: give one of this host"
)
_HINT_OF_PORT: Final = (
    "another program, or another driver (RSTREAM_DIR), has the port: `ss -lunp` names it; end it, "
    "use the same driver directory, or another port"
)
_HINT_OF_FILES: Final = (
    "this process, or its driver, may open no more files: raise `ulimit -n` where it starts, or "
    "close what is no longer used"
)
_told: Final[set[tuple[str, ...]]] = set()
_KEYS: Final = ("tags", *(row.key for row in KEYS))


def hint_of_key(uri: str) -> str:
    """Which unknown key of a channel may be a slip; empty: none."""
    try:
        keys = [key for key, _ in ChannelUri.parse(uri).parameters if key not in _KEYS]
    except ChannelError:
        return ""
    for key in keys:
        for known in difflib.get_close_matches(key, _KEYS, 1, LIKENESS_LEAST):
            return f"key {key!r} is not known: did you mean {known!r}?"
    return ""


@contextlib.contextmanager
def explained(uri: str, *, is_reader: bool) -> Generator[None]:
    """Add a hint to the error with which a publication or subscription is refused.

    Unknown keys are ignored, as Aeron does. One that may be a slip is logged.
    """
    try:
        yield
        if hint := hint_of_key(uri):
            log.warning("channel %s: %s The key is ignored.", uri, hint)
    except ChannelError as error:
        error.hint = error.hint or hint_of_key(uri)
        raise
    except (RegistrationError, SystemCallError) as error:
        error.hint = error.hint or _hint_of_system(str(error), is_reader=is_reader)
        raise


def _hint_of_system(text: str, *, is_reader: bool) -> str:
    """What to do about what the system has refused, by its text; empty: not known."""
    if os.strerror(errno.EADDRNOTAVAIL) in text:
        return _HINT_OF_READER if is_reader else _HINT_OF_PUBLISHER
    if os.strerror(errno.EADDRINUSE) in text:
        return _HINT_OF_PORT
    if os.strerror(errno.EMFILE) in text:
        return _HINT_OF_FILES
    return ""


def warn_of_unknown_keys(uri: str) -> None:
    """Log the keys of a channel that nobody knows, once; a slip is logged by :func:`explained`."""
    unknown = tuple(key for key, _ in ChannelUri.parse(uri).parameters if key not in _KEYS)
    if unknown and unknown not in _told and not hint_of_key(uri):
        if len(_told) < TOLD_MAX:
            _told.add(unknown)
        log.warning(
            "channel %s: key %s is not known, and is ignored as by Aeron",
            uri,
            ", ".join(map(repr, unknown)),
        )

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
from rstream.errors import ChannelError, RegistrationError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ("explained", "hint_of_key")

log = logging.getLogger("rstream")

#: How alike two keys must be, 0 to 1: "endpont" and "endpoint" are 0.93.
LIKENESS_LEAST: Final = 0.8
_HINT_OF_READER: Final = (
    "the endpoint of a channel is the reader's own address: give an address of this host here, "
    'or "0.0.0.0" for all of them'
)
_HINT_OF_PUBLISHER: Final = (
    "control and interface of a publisher are its own addresses: give one of this host"
)
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
    except RegistrationError as error:
        if os.strerror(errno.EADDRNOTAVAIL) in str(error):
            error.hint = _HINT_OF_READER if is_reader else _HINT_OF_PUBLISHER
        raise

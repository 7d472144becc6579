"""The callers of a server, and what each of them has asked."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stream import Publisher

#: Seconds after which a caller that never listens is dropped.
CONNECT_S = 5.0


class Caller:
    """One caller, as the server sees it.

    Attributes:
        key: where its answers go, as it says in each message.
        answers: sends them there.
        calls: its requests that have no full answer yet, by number.
        unsent: answers that it had no room for.
    """

    def __init__(self, key: bytes, answers: Publisher[bytes]) -> None:
        self.key: bytes = key
        self.answers: Publisher[bytes] = answers
        self.calls: dict[int, Asked] = {}
        self.unsent: deque[bytes] = deque()
        self.was_connected: bool = False
        self.since_s: float = time.monotonic()

    @property
    def is_gone(self) -> bool:
        """Whether it listens no more, or never has."""
        if self.answers.is_connected:
            self.was_connected = True
            return False
        return self.was_connected or time.monotonic() - self.since_s > CONNECT_S


class Asked:
    """One request at the server.

    Attributes:
        caller, call_id: whose, and its number there.
        is_stream: a stream of answers is wanted.
        codec_id, body: the encoded query.
        granted, made: answers of a stream wanted in all, and made so far.
        deadline_s: when its caller gives up, by this host's monotonic clock; None: never.
        is_cancelled: its caller has given it up, or has gone.
        on_change: is called when it is cancelled, or more answers are wanted.
    """

    __slots__ = (
        "body",
        "call_id",
        "caller",
        "codec_id",
        "deadline_s",
        "granted",
        "is_cancelled",
        "is_stream",
        "made",
        "on_change",
    )

    def __init__(
        self,
        caller: Caller,
        call_id: int,
        codec_id: int,
        body: bytes,
        *,
        granted: int | None = None,
        deadline_s: float | None = None,
    ) -> None:
        self.caller: Caller = caller
        self.call_id: int = call_id
        self.codec_id: int = codec_id
        self.body: bytes = body
        self.is_stream: bool = granted is not None
        self.granted: int = granted or 0
        self.made: int = 0
        self.deadline_s: float | None = deadline_s
        self.is_cancelled: bool = False
        self.on_change: Callable[[], object] | None = None

    @property
    def may_make(self) -> bool:
        """Whether another answer of the stream is wanted, and the one before was sent."""
        return self.made < self.granted and not self.caller.unsent

    def changed(self) -> None:
        if self.on_change is not None:
            self.on_change()

    def cancel(self) -> None:
        """Note that nobody wants the answer."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.changed()

"""The callers of a server, and what each of them has asked."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._waits import Waker
    from rstream.service._serving import RequestSteps
    from rstream.stream import Publisher

log = logging.getLogger("rstream")

#: Seconds after which a caller that never listens is dropped.
CONNECT_S = 5.0


class Caller:
    """One caller, as the server sees it.

    Attributes:
        key: where its answers go, as it says in each message.
        answers: sends them there.
        calls: its requests that have no full answer yet, by number.
        unsent: answers that it had no room for.
        unparted_max: longest answer in bytes that does not travel in parts.
        sending: the thread that sends an answer in parts.
    """

    def __init__(self, key: bytes, answers: Publisher[bytes]) -> None:
        self.key: bytes = key
        self.answers: Publisher[bytes] = answers
        self.calls: dict[int, Asked] = {}
        self.unsent: deque[bytes] = deque()
        self.was_connected: bool = False
        self.unparted_max: int = answers.max_unparted_length
        self.sending: threading.Thread | None = None
        self.since_s: float = time.monotonic()
        self._offered_at: int | None = None  # sent position before the first answer that waits

    def try_send(self) -> bool:
        """Send what waits, as far as there is room. True: nothing is left.

        An answer in parts takes as long as its caller takes to read it, so a thread sends it.
        """
        if self.sending is not None:
            if self.sending.is_alive():
                return False
            self.sending = None
        unsent = self.unsent
        while unsent:
            if len(unsent[0]) > self.unparted_max:
                if not self.answers.is_connected:
                    return False
                self.sending = threading.Thread(
                    target=self._send_large,
                    args=(unsent.popleft(),),
                    name="rstream-service-answer",
                    daemon=True,
                )
                self.sending.start()
                return False
            if self._offered_at is None:
                self._offered_at = self.answers.sent_position
            is_sent = self.answers.sent_position != self._offered_at  # but its call was interrupted
            if not is_sent and self.answers.offer(unsent[0]) <= 0:
                return False
            self.was_connected = True
            del unsent[0]  # no call: no signal handler runs before the next line
            self._offered_at = None
        return True

    def _send_large(self, message: bytes) -> None:
        try:
            self.answers.send(message)
            self.was_connected = True
        except RStreamError as error:  # the caller or the driver has gone: the line sees it
            log.info("an answer of %d bytes was not sent: %s", len(message), error)

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
        on_cancel: is called when it is cancelled.
        steps: answer it.
        waker: ends its wait when it is cancelled, or more answers are wanted.
        answers: makes those of a stream.
        is_in_pool: a thread of the pool works on it.
        error_in_pool: what was raised there.
    """

    # Defaults of the class: most requests change none of them.
    is_stream: bool = False
    granted: int = 0
    made: int = 0
    is_cancelled: bool = False
    on_cancel: Callable[[], object] | None = None
    waker: Waker | None = None
    answers: Any = None
    is_in_pool: bool = False
    error_in_pool: BaseException | None = None
    steps: RequestSteps

    def __init__(
        self, caller: Caller, call_id: int, codec_id: int, body: bytes, deadline_s: float | None
    ) -> None:
        self.caller: Caller = caller
        self.call_id: int = call_id
        self.codec_id: int = codec_id
        self.body: bytes = body
        self.deadline_s: float | None = deadline_s

    @property
    def may_make(self) -> bool:
        """Whether another answer of the stream is wanted, and the one before was sent."""
        return self.made < self.granted and not (self.caller.unsent or self.caller.sending)

    def changed(self) -> None:
        if self.waker is not None:
            self.waker.wake()

    def cancel(self) -> None:
        """Note that nobody wants the answer."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.changed()
            if self.on_cancel is not None:
                self.on_cancel()

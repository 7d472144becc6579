"""The requests of a caller that have no answer yet. Pure book-keeping.

A signal handler may end any of these calls, which is then made again. So what a message changes is
set without a call in between, where no handler runs, and a request is listed until it is over.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from rstream.service._wire import HEAD, MessageKind
from rstream.stream._internal import decode_failure, make_remote

if TYPE_CHECKING:
    from collections.abc import Callable


class Call:
    """One request.

    Attributes:
        call_id: its number.
        codec_id, body: the answer to a single request.
        answers: those of a stream that have come and were not taken, each with its codec id; None:
            a single request.
        error: why it failed.
        is_over: nothing more will come.
        count: answers of a stream that have come.
    """

    __slots__ = ("answers", "body", "call_id", "codec_id", "count", "error", "is_over")

    codec_id: int
    body: bytes

    def __init__(self, call_id: int, answers: deque[tuple[int, bytes]] | None) -> None:
        self.call_id: int = call_id
        self.answers: deque[tuple[int, bytes]] | None = answers
        self.error: Exception | None = None
        self.is_over: bool = False
        self.count: int = 0

    def finish(self, error: Exception | None) -> None:
        """Note that nothing more will come."""
        self.error, self.is_over = error, True


class Calls:
    """The requests of one line to a server, by number.

    Any thread adds, and one at a time takes answers.

    Args:
        where: the service and its channel, for the texts of errors.
        channel: the channel.
        most: how many may be outstanding.
    """

    def __init__(self, where: str, channel: str, most: int) -> None:
        self.by_id: dict[int, Call] = {}
        self.most: int = most
        self.answered: int = 0
        self.late: int = 0
        self._where = where
        self._channel = channel
        self._next_id = 0
        self._adding = threading.Lock()

    @property
    def has_room(self) -> bool:
        """Whether another request may be made."""
        return len(self.by_id) < self.most

    def add(self, *, is_stream: bool) -> Call | None:
        """A new request; None: there is no room."""
        answers: deque[tuple[int, bytes]] | None = deque() if is_stream else None
        call = None
        try:
            with self._adding:
                if len(self.by_id) >= self.most:
                    return None
                self._next_id += 1
                call = self.by_id[self._next_id] = Call(self._next_id, answers)
            return call
        except BaseException:
            if call is not None:
                self.by_id.pop(call.call_id, None)
            raise

    def on_message(self, data: bytes) -> None:
        """Note a message of the server. What nobody waits for any more is dropped and counted."""
        if len(data) < HEAD.size:
            return
        kind, codec_id, _, _, call_id, _ = HEAD.unpack_from(data)
        call = self.by_id.get(call_id)
        if kind == MessageKind.ITEM and call is not None and call.answers is not None:
            answer = codec_id, data[HEAD.size :]
            call.count += 1
            call.answers += (answer,)  # the last change, and no call
        elif MessageKind.ANSWER <= kind <= MessageKind.FAIL and call is not None:
            self._end(call, kind, codec_id, data[HEAD.size :])
        else:
            self.late += 1

    def _end(self, call: Call, kind: int, codec_id: int, body: bytes) -> None:
        error = None
        if kind == MessageKind.FAIL:
            text = f"{self._where}: its server failed: "
            error = make_remote(decode_failure(body), text, channel=self._channel)
        else:
            self.answered += 1
            call.codec_id, call.body = codec_id, body
        call.error, call.is_over = error, True
        self.by_id.pop(call.call_id, None)

    def fail_all(self, make_error: Callable[[Call], Exception]) -> None:
        """End every request with an error of its own."""
        for call in list(self.by_id.values()):
            call.finish(make_error(call))
            self.by_id.pop(call.call_id, None)

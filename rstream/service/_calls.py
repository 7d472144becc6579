"""The requests of a caller that have no answer yet. Pure book-keeping."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from rstream.service._wire import HEAD, Kind
from rstream.stream._remote import decode_failure, make_remote

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
        on_change: is called when something has come.
    """

    __slots__ = ("answers", "body", "call_id", "codec_id", "error", "is_over", "on_change")

    codec_id: int
    body: bytes

    def __init__(self, call_id: int, answers: deque[tuple[int, bytes]] | None) -> None:
        self.call_id: int = call_id
        self.answers: deque[tuple[int, bytes]] | None = answers
        self.error: Exception | None = None
        self.is_over: bool = False
        self.on_change: Callable[[], object] | None = None

    def finish(self, error: Exception | None) -> None:
        """Note that nothing more will come."""
        self.error, self.is_over = error, True
        if self.on_change is not None:
            self.on_change()


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
        with self._adding:
            if len(self.by_id) >= self.most:
                return None
            self._next_id += 1
            call = self.by_id[self._next_id] = Call(self._next_id, answers)
            return call

    def on_message(self, data: bytes) -> None:
        """Note a message of the server. What nobody waits for any more is dropped and counted."""
        if len(data) < HEAD.size:
            return
        kind, codec_id, _, _, call_id, _ = HEAD.unpack_from(data)
        if kind == Kind.ITEM:
            call = self.by_id.get(call_id)
            if call is not None and call.answers is not None:
                call.answers.append((codec_id, data[HEAD.size :]))
                if call.on_change is not None:
                    call.on_change()
                return
        elif Kind.ANSWER <= kind <= Kind.FAIL:
            call = self.by_id.pop(call_id, None)
            if call is not None:
                if kind == Kind.ANSWER and call.on_change is None:  # as _end, without its calls
                    self.answered += 1
                    call.codec_id, call.body = codec_id, data[HEAD.size :]
                    call.is_over = True
                else:
                    self._end(call, kind, codec_id, data[HEAD.size :])
                return
        self.late += 1

    def _end(self, call: Call, kind: int, codec_id: int, body: bytes) -> None:
        if kind == Kind.FAIL:
            text = f"{self._where}: its server failed: "
            call.finish(make_remote(decode_failure(body), text, channel=self._channel))
            return
        self.answered += 1
        call.codec_id, call.body = codec_id, body
        call.finish(None)

    def fail_all(self, make_error: Callable[[], Exception]) -> None:
        """End every request with an error of its own."""
        calls = list(self.by_id.values())
        self.by_id.clear()
        for call in calls:
            call.finish(make_error())
